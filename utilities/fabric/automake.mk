# utilities/fabric

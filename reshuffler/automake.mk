# reshuffler: programs and files of this folder are added here

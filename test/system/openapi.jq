# Does a document fit its schema in doc/openapi.json? Prints what does not.
#
#   jq -nr --slurpfile api doc/openapi.json --arg schema Traces -f openapi.jq DOCUMENT
#
# No document at all is an error.
#
# Knows what our schemas use: $ref, type, nullable, enum, properties, required,
# additionalProperties, items, allOf, oneOf.

def resolve: if has("$ref") then (.["$ref"] | ltrimstr("#/") | split("/")) as $p | $api[0] | getpath($p) else . end;

# The fields that a schema knows, its own and those of allOf.
def known: resolve | (.properties // {} | keys) + ([.allOf // [] | .[] | known] | add // []);

def is_type($value): . as $type | ($value | type) as $actual
    | ($type == null) or ($type == $actual) or ($type == "integer" and $actual == "number" and ($value | floor) == $value);

def misfits($value; $path): resolve as $s
    | if $s.oneOf then
          # The first that fits, else what is wrong with the one of the same role.
          [$s.oneOf[] | [misfits($value; $path)]] | if any(length == 0) then empty else min_by(length)[] end
      elif $value == null and $s.nullable then empty
      elif ($s.type | is_type($value) | not) then "\($path): is \($value | type), not \($s.type)"
      elif $s.enum and ($s.enum | index([$value]) == null) then "\($path): \($value) is none of \($s.enum)"
      elif ($value | type) == "array" then
          range($value | length) as $i | $s.items | misfits($value[$i]; "\($path)[\($i)]")
      elif ($value | type) == "object" then
          (($s.required // [])[] | select(. as $k | $value | has($k) | not) | "\($path).\(.): missing"),
          ($value | keys[] | . as $k
              | if $s.properties[$k] then $s.properties[$k] | misfits($value[$k]; "\($path).\($k)")
                elif $s.additionalProperties == true then empty
                elif $s.additionalProperties then $s.additionalProperties | misfits($value[$k]; "\($path).\($k)")
                elif $s | known | index($k) then empty
                elif $s.additionalProperties == false or $s.properties or $s.allOf then "\($path).\($k): not in the schema"
                else empty end)
      else empty end;

input as $document | {"$ref": "#/components/schemas/\($schema)"} | misfits($document; $schema)

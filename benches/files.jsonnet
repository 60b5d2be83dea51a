// The objects of `objects.jsonnet` as one YAML file for each tenant, for `jrsonnet --multi`.
local objects = import 'objects.jsonnet';
{
  [objects[index].metadata.name + '.yaml']:
    std.manifestYamlStream(objects[index:index + 4], quote_keys=false)
  for index in std.range(0, std.length(objects) - 1)
  if objects[index].kind == 'Namespace'
}

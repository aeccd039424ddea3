# A small replacement for the NixOS module system: follows imports, lets modules declare options, checks spelling and types of
# everything that is set, honours mkDefault, mkForce, mkIf and mkMerge, and returns plain data to compare with the expected values.
{ root, schema, entry, extra ? [ ] }:
let
  inherit (builtins)
    attrNames concatLists concatMap concatStringsSep elem filter foldl' functionArgs hasAttr head isAttrs isFunction isList isPath isString
    length listToAttrs map removeAttrs stringLength substring tail toJSON toString typeOf;
  lib = import ./mini-lib.nix;
  spelled = concatStringsSep ".";
  package = name: {
    type = "derivation";
    inherit name;
    outPath = "/nix/store/00000000000000000000000000000000-${name}";
  };
  format = extension: _: {
    type = lib.types.anything;
    generate = name: value: package name // { inherit value; };
  };
  written = name: text: package name // { inherit text; };
  pkgs = lib.genAttrs schema.packages package // {
    formats = { toml = format "toml"; yaml = format "yaml"; };
    runtimeShell = "/run/current-system/sw/bin/sh";
    writeScript = written;
    writeShellScript = written;
    writeText = written;
    callPackage = _: _: package "called";
    runCommand = name: _: written name;
    stdenv.hostPlatform.isAarch64 = false;
  };
  known = { inherit lib pkgs config; modulesPath = "/MODULES"; };
  argumentsOf = file: function:
    listToAttrs (map (name: {
      inherit name;
      value = known.${name} or (config._module.args.${name} or (throw "${file}: a module asks for the unknown argument ${name}"));
    }) (attrNames (functionArgs function)));

  # ---- loading: a module is a function or a set; imports stay below the root
  isUpstream = module: isString module && substring 0 8 module == "/MODULES";
  load = seen: module:
    let
      file = if isPath module || isString module then toString module else "<inline>";
      raw = if isAttrs module || isFunction module then module else import (/. + file);
      body = if isFunction raw then raw (argumentsOf file raw) else raw;
      settings = if body ? config then body.config else removeAttrs body [ "imports" "options" ];
      self = { inherit file settings; options = body.options or { }; };
    in
    if isUpstream module then
      (if elem (substring 8 999 module) schema.upstreamModules then seen else throw "unknown upstream module ${module}")
    else if hasAttr file seen then seen
    else if file != "<inline>" && substring 0 (stringLength (toString root)) file != toString root then throw "an import leaves the folder: ${file}"
    else foldl' load (seen // { ${if file == "<inline>" then "<inline ${toString (length (attrNames seen))}>" else file} = self; }) (body.imports or [ ]);
  modules = let loaded = foldl' load { } (extra ++ [ entry ]); in map (name: loaded.${name}) (attrNames loaded);

  # ---- options: NixOS' own from the schema, ours from the modules
  isLeaf = node: node.isNode or false;
  graft = a: b:
    if isLeaf a || isLeaf b then throw "an option is declared twice"
    else a // lib.mapAttrs (name: value: if hasAttr name a then graft a.${name} value else value) b;
  options = foldl' graft schema.options (map (module: module.options) modules);

  # ---- properties
  push = file: value:
    if isAttrs value && (value._type or "") == "if" then (if value.condition then push file value.content else [ ])
    else if isAttrs value && (value._type or "") == "merge" then concatMap (push file) value.contents
    else if isAttrs value && (value._type or "") == "override" then map (found: found // { inherit (value) priority; }) (push file value.content)
    else [ { inherit file value; priority = 100; } ];
  lowest = numbers: foldl' (a: b: if b < a then b else a) (head numbers) (tail numbers);

  # A condition on a set of options is passed down, not evaluated: it may depend on the value of another option.
  passDown = file: value:
    if isAttrs value && (value._type or "") == "if" then
      map (found: found // { value = lib.mapAttrs (_: lib.mkIf value.condition) found.value; }) (passDown file value.content)
    else if isAttrs value && (value._type or "") == "merge" then concatMap (passDown file) value.contents
    else if isAttrs value then [ { inherit file value; } ]
    else throw "expected a set, got ${typeOf value} (${file})";

  # ---- merging definitions and checking them against options
  merge = path: node: definitions:
    if node ? ok || node ? list || node ? of then mergeValue path node (concatMap (found: push found.file found.value) definitions)
    else mergeTree path (node.tree or node) (concatMap (found: passDown found.file found.value) definitions);

  mergeTree = path: tree: sets:
    let
      defined = attrNames (foldl' (found: next: found // next.value) { } sets);
      unknown = filter (name: !(hasAttr name tree)) defined;
      present = filter (name: !(isLeaf tree.${name}) || tree.${name} ? default) (attrNames tree);
    in
    if unknown != [ ] then
      throw "${spelled (path ++ [ (head unknown) ])}: no such option (${concatStringsSep ", " (map (found: found.file) sets)})"
    else mergeNames path (name: tree.${name}) (attrNames (lib.genAttrs (present ++ defined) (_: null))) sets;

  mergeNames = path: nodeOf: names: sets:
    lib.genAttrs names (name:
      merge (path ++ [ name ]) (nodeOf name)
        (map (found: { inherit (found) file; value = found.value.${name}; }) (filter (found: hasAttr name found.value) sets)));

  mergeValue = path: node: found:
    let
      best = lowest (map (one: one.priority) found);
      chosen = filter (one: one.priority == best) found;
      where = concatStringsSep ", " (map (one: one.file) chosen);
      mustBe = what: one: if what == typeOf one.value then one else throw "${spelled path}: expected a ${what}, got ${typeOf one.value} (${one.file})";
      sets = map (mustBe "set") chosen;
      element = one: map (value: merge (path ++ [ "*" ]) node.list [ { inherit (one) file; inherit value; } ]) (mustBe "list" one).value;
    in
    # Not set, or only under a false condition.
    if found == [ ] then node.default or null
    else if node ? list then concatMap element chosen
    else if node ? of then mergeNames path (_: node.of) (attrNames (foldl' (names: one: names // one.value) { } sets)) sets
    else leafValue path node where (map (one: one.value) chosen);

  leafValue = path: node: where: values:
    let bad = filter (value: !(node.ok value)) values; in
    if bad != [ ] then throw "${spelled path}: ${toJSON (head bad)} is not ${node.name} (${where})"
    else if node ? join then node.join values
    else if (node.once or false) && length values > 1 then throw "${spelled path}: defined more than once (${where})"
    else if filter (value: value != head values) values != [ ] then throw "${spelled path}: conflicting values ${toJSON values} (${where})"
    else head values;

  config = merge [ ] options (map ({ file, settings, ... }: { inherit file; value = settings; }) modules);
in
config

# The part of nixpkgs' lib that our modules and configurations use, written anew: enough to evaluate them with nothing but
# Debian's nix-bin. A type is what it accepts (`ok`), or what it is made of (`of`, `list`, `tree`); `once`: even two equal
# definitions are an error.
let
  inherit (builtins)
    all attrNames concatLists elem filter foldl' hasAttr head isAttrs isBool isInt isList isString length listToAttrs map match
    replaceStrings split stringLength substring tail toString;
  leaf = name: ok: { isNode = true; inherit name ok; };
  prioritised = priority: content: { _type = "override"; inherit priority content; };
  # Without a description, the manual of a system that includes the option cannot be built.
  option = attributes: if attributes ? description then attributes.type // removeAttrs attributes [ "type" ] else throw "an option has no description";
in
rec {
  mkDefault = prioritised 1000;
  mkForce = prioritised 50;
  mkIf = condition: content: { _type = "if"; inherit condition content; };
  mkMerge = contents: { _type = "merge"; inherit contents; };
  mkOption = option;
  mkEnableOption = description: mkOption { type = types.bool; default = false; inherit description; };
  literalExpression = text: text;
  literalMD = text: text;

  types = rec {
    anything = leaf "anything" (_: true);
    bool = leaf "a boolean" isBool;
    int = leaf "an integer" isInt;
    str = leaf "a text" isString;
    singleLineStr = leaf "a text of one line" (value: isString value && match "[^\n\r]*" value != null);
    lines = str // { join = concatStringsSep "\n"; };
    package = leaf "a package" (value: isAttrs value && (value.type or "") == "derivation");
    port = leaf "a port" (value: isInt value && value >= 0 && value <= 65535);
    ints = {
      positive = leaf "a positive integer" (value: isInt value && value > 0);
      between = low: high: leaf "an integer from ${toString low} to ${toString high}" (value: isInt value && value >= low && value <= high);
    };
    enum = values: leaf "one of ${builtins.toJSON values}" (value: elem value values);
    strMatching = pattern: leaf "a text matching ${pattern}" (value: isString value && match pattern value != null);
    nullOr = type: leaf "null or ${type.name}" (value: value == null || type.ok value);
    listOf = type: { isNode = true; name = "a list"; list = type; };
    attrsOf = type: { isNode = true; name = "a set"; of = type; };
    submodule = module: { isNode = true; name = "a submodule"; tree = module.options; };
  };

  inherit (builtins) attrNames concatMap elem filter genList hasAttr head isList length listToAttrs map mapAttrs;
  concatStringsSep = builtins.concatStringsSep;
  concatMapStringsSep = separator: f: list: concatStringsSep separator (map f list);
  concatMapStrings = concatMapStringsSep "";
  optional = condition: value: if condition then [ value ] else [ ];
  optionals = condition: values: if condition then values else [ ];
  optionalString = condition: text: if condition then text else "";
  optionalAttrs = condition: set: if condition then set else { };
  nameValuePair = name: value: { inherit name value; };
  genAttrs = names: f: listToAttrs (map (name: nameValuePair name (f name)) names);
  mapAttrs' = f: set: listToAttrs (map (name: f name set.${name}) (attrNames set));
  filterAttrs = f: set: listToAttrs (concatLists (map (name: optional (f name set.${name}) (nameValuePair name set.${name})) (attrNames set)));
  unique = foldl' (found: value: if elem value found then found else found ++ [ value ]) [ ];
  splitString = separator: text: filter isString (split (replaceStrings [ "." ] [ "[.]" ] separator) text);
  attrByPath = path: default: set:
    if path == [ ] then set else if isAttrs set && hasAttr (head path) set then attrByPath (tail path) default set.${head path} else default;
  inherit replaceStrings;
  last = list: builtins.elemAt list (length list - 1);
  escapeShellArg = text: "'${replaceStrings [ "'" ] [ "'\\''" ] text}'";
  strings.sanitizeDerivationName = replaceStrings [ "@" "/" ] [ "" "-" ];
  fetchers.proxyImpureEnvVars = [ "https_proxy" ];
  importJSON = file: builtins.fromJSON (builtins.readFile file);
  trivial.release = "25.11";
}

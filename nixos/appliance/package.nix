# Coldiron from this folder. The hashes of what it depends on are the ones in package-lock.json, so none can go stale here.
{
  lib,
  buildNpmPackage,
  callPackage,
  importNpmLock,
  makeWrapper,
  # Where nixpkgs has it. Its plain nodejs may be 20, which runs no TypeScript.
  nodejs_24 ? nodejs_22,
  nodejs_22,
}:
let
  source = ../../.;
  manifest = lib.importJSON (source + "/package.json");
  nodejs = nodejs_24;
in
buildNpmPackage {
  pname = manifest.name;
  inherit (manifest) version;
  src = lib.fileset.toSource {
    root = source;
    fileset = lib.fileset.unions [
      (source + "/appliance")
      (lib.fileset.maybeMissing (source + "/boot-assets"))
      (source + "/inventory")
      (source + "/nixos")
      (source + "/templates")
      (source + "/package.json")
      (source + "/package-lock.json")
    ];
  };
  inherit nodejs;
  npmDeps = callPackage ./npm-packages.nix { inherit nodejs; } source;
  npmConfigHook = importNpmLock.npmConfigHook;
  # Nothing is fetched or compiled by scripts: the native modules bring programs for Node's stable interface.
  npmFlags = [ "--ignore-scripts" ];
  dontNpmBuild = true;

  nativeBuildInputs = [ makeWrapper ];

  # Not below a folder called node_modules: there Node would not strip types.
  installPhase = ''
    runHook preInstall
    mkdir -p $out/lib/coldiron boot-assets
    # It would keep every package's archive in the store.
    rm -f node_modules/.package-lock.json
    cp -r appliance boot-assets inventory nixos templates node_modules package.json $out/lib/coldiron/
    makeWrapper ${nodejs}/bin/node $out/bin/coldiron \
      --add-flags "--experimental-strip-types --disable-warning=ExperimentalWarning" \
      --add-flags $out/lib/coldiron/appliance/cli/coldiron.ts
    runHook postInstall
  '';

  meta = {
    inherit (manifest) description;
    license = lib.licenses.asl20;
    mainProgram = "coldiron";
    platforms = lib.platforms.linux;
  };
}

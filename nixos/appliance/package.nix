# Coldiron from this folder. The hashes of its dependencies come from package-lock.json, so they cannot be out of date here.
{
  lib,
  buildNpmPackage,
  callPackage,
  importNpmLock,
  makeWrapper,
  # If nixpkgs has it. Its plain nodejs may be 20, which does not run TypeScript.
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
  # Install scripts fetch and compile nothing: the native modules include binaries for Node's stable interface.
  npmFlags = [ "--ignore-scripts" ];
  dontNpmBuild = true;

  nativeBuildInputs = [ makeWrapper ];

  # Not below a folder named node_modules: Node does not strip types there.
  installPhase = ''
    runHook preInstall
    mkdir -p $out/lib/coldiron boot-assets
    # It would keep the archive of every package in the store.
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

# The part of nixpkgs that `nix flake check` needs for a flake that uses it: package inputs are evaluated, nothing can be built.
{
  outputs =
    { self }:
    let
      miniLib = import ./mini-lib.nix;
      derivationOf =
        system: name: parts:
        derivation {
          inherit name system;
          builder = "/bin/sh";
          parts = builtins.toJSON parts;
        };
      lib = miniLib // {
        nixosSystem =
          { modules }:
          {
            config.system.build.toplevel =
              assert builtins.all (module: !(builtins.isPath module) || builtins.pathExists module) modules;
              derivationOf "x86_64-linux" "system" (builtins.length modules);
            config.coldiron.installer.files = derivationOf "x86_64-linux" "netboot" [ ];
          };
        fileset = {
          toSource = { root, fileset }: assert builtins.all builtins.pathExists fileset; toString root;
          unions = builtins.concatMap (part: if builtins.isList part then part else [ part ]);
          maybeMissing = part: if builtins.pathExists part then [ part ] else [ ];
        };
        licenses.asl20 = "Apache-2.0";
        platforms.linux = [ "x86_64-linux" "aarch64-linux" ];
      };
      packagesOf =
        system:
        let
          made = name: derivationOf system name [ ];
          pkgs = {
            inherit lib pkgs;
            callPackage = file: extra: let made = import file; in made (builtins.intersectAttrs (builtins.functionArgs made) pkgs // extra);
            buildNpmPackage = attributes: derivationOf system "${attributes.pname}-${attributes.version}" (removeAttrs attributes [ "meta" ]);
            runCommand = name: attributes: script: derivationOf system name [ (attributes.outputHash or null) script ];
            linkFarm = name: derivationOf system name;
            writeText = name: text: derivationOf system name [ text ];
            mkShell = { packages }: derivationOf system "shell" packages;
            importNpmLock.npmConfigHook = made "npm-config-hook";
            stdenv.hostPlatform = { inherit system; isAarch64 = system == "aarch64-linux"; };
          }
          // lib.genAttrs [ "cacert" "makeWrapper" "nixfmt-rfc-style" "nodejs_22" ] made;
        in
        pkgs;
    in
    {
      inherit lib;
      legacyPackages = lib.genAttrs lib.platforms.linux packagesOf;
    };
}

{
  description = "Coldiron: from a cold, freshly racked server to an enrolled node";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-25.11";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      forAllSystems = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
      # As a set, not as a path: Nix 2.8 takes nothing else for a module.
      module = path: { imports = [ path ]; };
      installer =
        system:
        nixpkgs.lib.nixosSystem {
          modules = [
            self.nixosModules.netboot-installer
            { nixpkgs.hostPlatform = system; }
          ];
        };
    in
    {
      nixosModules = {
        default = module ./nixos/appliance/module.nix;
        appliance = module ./nixos/appliance/module.nix;
        netboot-installer = module ./nixos/installer/netboot.nix;
        # What an installed node has; the configurations that Coldiron renders import copies of these.
        node = module ./nixos/common/base.nix;
        control-plane = module ./nixos/profiles/control-plane.nix;
        worker = module ./nixos/profiles/worker.nix;
        all-in-one = module ./nixos/profiles/all-in-one.nix;
      };

      nixosConfigurations = {
        installer-x86_64 = installer "x86_64-linux";
        installer-aarch64 = installer "aarch64-linux";
      };

      packages = forAllSystems (pkgs: {
        default = pkgs.callPackage ./nixos/appliance/package.nix { };
        # bzImage, initrd and netboot.ipxe. Build it with your own keys: coldiron.installer.sshKeys.
        netboot-installer = (installer pkgs.stdenv.hostPlatform.system).config.coldiron.installer.files;
      });

      overlays.default = final: _prev: { coldiron = final.callPackage ./nixos/appliance/package.nix { }; };

      # Everything else comes through npm, the project's own Node included.
      devShells = forAllSystems (pkgs: {
        default = pkgs.mkShell { packages = [ pkgs.nodejs_22 ]; };
      });
      formatter = forAllSystems (pkgs: pkgs.nixfmt-tree or pkgs.nixfmt-rfc-style);
    };
}

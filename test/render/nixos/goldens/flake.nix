# The nodes of a site. Rendered by Coldiron from the inventory: change it there, not here.
#
#   nix run github:nix-community/nixos-anywhere -- --flake .#NODE --phases disko,install,reboot root@ADDRESS
#   nix build .#NODE
#
# Nix copies everything below this folder into its world-readable store; in a Git repository only tracked files.
# Private keys reach a node with --extra-files, from a folder outside.
{
  description = "NixOS nodes provisioned by Coldiron";

  inputs = {
    nixpkgs.url = "github:NixOS/nixpkgs/nixos-25.11";
    disko = {
      url = "github:nix-community/disko/v1.13.0";
      inputs.nixpkgs.follows = "nixpkgs";
    };
  };

  outputs =
    { self, ... }@inputs:
    let
      system = name: self.nixosConfigurations.${name}.config.system.build.toplevel;
    in
    {
      nixosConfigurations = {
        "bonded01" = import (./. + "/nodes/bonded01.example.com/system.nix") inputs;
        "node01" = import (./. + "/nodes/node01.example.com/system.nix") inputs;
        "node04" = import (./. + "/nodes/node04.example.com/system.nix") inputs;
      };

      packages."aarch64-linux" = {
        "bonded01" = system "bonded01";
      };

      packages."x86_64-linux" = {
        "node01" = system "node01";
        "node04" = system "node04";
      };
    };
}

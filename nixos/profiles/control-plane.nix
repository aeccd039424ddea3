# Control plane: consensus and databases need their pages in memory and their connections accepted.
{ lib, ... }:
{
  imports = [ ../services.nix ];

  boot.kernel.sysctl = {
    "net.core.somaxconn" = lib.mkDefault 4096;
    "vm.swappiness" = lib.mkDefault 10;
  };
}

# Runs workloads: virtual machines, containers and the networks between them.
{ lib, ... }:
{
  imports = [ ../services.nix ];

  boot.kernelModules = [
    "br_netfilter"
    "tun"
    "vhost_net"
  ];
  boot.kernel.sysctl = {
    "net.bridge.bridge-nf-call-iptables" = lib.mkDefault 1;
    "net.ipv4.ip_forward" = lib.mkDefault 1;
  };
}

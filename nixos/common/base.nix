# The configuration of every node, whatever its role: SSH access, a clock, bounded logs, a firewall, and the first-boot units.
{ lib, ... }:
{
  imports = [
    ../first-boot/automation.nix
    ../first-boot/site-bootstrap.nix
    ../lossless.nix
    ../node-agent.nix
    ../services.nix
  ];

  networking = {
    # Each link configures its own address source.
    useDHCP = lib.mkDefault false;
    nftables.enable = lib.mkDefault true;
    firewall.enable = lib.mkDefault true;
  };

  services.openssh = {
    enable = true;
    settings = {
      PasswordAuthentication = false;
      KbdInteractiveAuthentication = false;
      PermitRootLogin = lib.mkDefault "prohibit-password";
    };
  };
  # Nobody becomes root by a group: the inventory names each command and its reviewer.
  security.sudo.wheelNeedsPassword = true;

  services.timesyncd.enable = lib.mkDefault true;
  # As a file: newer releases have a different option.
  environment.etc."systemd/journald.conf.d/50-coldiron.conf".text = ''
    [Journal]
    Storage=persistent
    SystemMaxUse=1G
    MaxRetentionSec=7day
  '';

  nix.settings.experimental-features = [
    "nix-command"
    "flakes"
  ];
  nix.gc = {
    automatic = lib.mkDefault true;
    dates = lib.mkDefault "weekly";
    options = lib.mkDefault "--delete-older-than 30d";
  };
}

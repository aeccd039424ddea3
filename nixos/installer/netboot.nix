# The installer that machines boot over the network: NixOS' own, with the keys of whoever installs, the names of the inventory, a
# console that a BMC can show, and a service that does what the appliance orders. system.build.{kernel,netbootRamdisk,netbootIpxeScript} are its files.
{ config, lib, modulesPath, pkgs, ... }:
let
  cfg = config.coldiron.installer;
  installTools = [
    config.nix.package
    config.system.build.nixos-install
    config.systemd.package
    pkgs.coreutils
    pkgs.curl
    pkgs.dmidecode
    pkgs.findutils
    pkgs.gawk
    pkgs.gitMinimal
    pkgs.gnugrep
    pkgs.gnused
    pkgs.gnutar
    pkgs.iproute2
    pkgs.ipmitool
    pkgs.jq
    pkgs.kmod
    pkgs.smartmontools
    pkgs.util-linux
  ]
  # As far as this image has it at all.
  ++ lib.optional (config.boot.supportedFilesystems.zfs or false) config.boot.zfs.package;
in
{
  imports = [ (modulesPath + "/installer/netboot/netboot-minimal.nix") ];

  options.coldiron.installer = {
    sshKeys = lib.mkOption {
      type = lib.types.listOf lib.types.singleLineStr;
      default = [ ];
      description = ''
        Who may log in as root: there is no password. The appliance needs no key here, it is let in by its order; these are for people.
      '';
    };
    files = lib.mkOption {
      type = lib.types.package;
      readOnly = true;
      description = "A folder with bzImage, initrd and netboot.ipxe, as the appliance serves them.";
    };
  };

  config = {
    # It keeps no state from one release to the next.
    system.stateVersion = lib.mkDefault lib.trivial.release;

    users.users.root.openssh.authorizedKeys.keys = cfg.sshKeys;

    boot.kernelParams = [
      "console=tty0"
      "console=${if pkgs.stdenv.hostPlatform.isAarch64 then "ttyAMA0" else "ttyS0"},115200n8"
    ];

    environment.systemPackages = [
      pkgs.jq
      pkgs.nvme-cli
    ];

    # coldiron.node=NAME on the kernel's command line.
    systemd.services.coldiron-hostname = {
      description = "Take the host name that the appliance gave";
      wantedBy = [ "sysinit.target" ];
      before = [
        "network-pre.target"
        "sysinit.target"
      ];
      unitConfig = {
        ConditionKernelCommandLine = "coldiron.node";
        DefaultDependencies = false;
      };
      path = [ pkgs.gnused ];
      serviceConfig = {
        Type = "oneshot";
        RemainAfterExit = true;
      };
      script = ''
        name=$(sed -nE 's/^(.* )?coldiron[.]node=([a-z0-9-]+)( .*)?$/\2/p' /proc/cmdline)
        if [ -n "$name" ]; then printf '%s' "$name" >/proc/sys/kernel/hostname; fi
      '';
    };

    # coldiron.session=URL: whatever the appliance wants done here, done without anybody logging in.
    systemd.services.coldiron-install = {
      description = "Install this machine as the appliance orders";
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [
        "network-online.target"
        "sshd.service"
      ];
      unitConfig.ConditionKernelCommandLine = "coldiron.session";
      path = installTools;
      environment.LIB = "${../../boot-assets/service-os}";
      serviceConfig = {
        Type = "exec";
        ExecStart = "${pkgs.runtimeShell} ${./.}/main.sh";
        # On the console the scripts write themselves.
        StandardOutput = "journal";
        RuntimeDirectory = "coldiron";
        RuntimeDirectoryMode = "0700";
      };
    };

    coldiron.installer.files = pkgs.runCommand "coldiron-netboot" { } ''
      mkdir $out
      ln -s ${config.system.build.kernel}/${config.system.boot.loader.kernelFile} $out/bzImage
      ln -s ${config.system.build.netbootRamdisk}/initrd $out/initrd
      ln -s ${config.system.build.netbootIpxeScript}/netboot.ipxe $out/netboot.ipxe
    '';
  };
}

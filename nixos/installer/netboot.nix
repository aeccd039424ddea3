# The installer that machines boot over the network: the NixOS installer with the operators' SSH keys, the names of the inventory, a
# console that a BMC can show, and a service that carries out the appliance's orders. system.build.{kernel,netbootRamdisk,netbootIpxeScript} are its files.
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
    pkgs.ethtool
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
    pkgs.openssl
    pkgs.smartmontools
    pkgs.tpm2-tools
    pkgs.util-linux
  ]
  # If this image has it at all.
  ++ lib.optional (config.boot.supportedFilesystems.zfs or false) config.boot.zfs.package;
in
{
  imports = [ (modulesPath + "/installer/netboot/netboot-minimal.nix") ];

  options.coldiron.installer = {
    sshKeys = lib.mkOption {
      type = lib.types.listOf lib.types.singleLineStr;
      default = [ ];
      description = ''
        SSH keys that may log in as root; there is no password. These are for people: the appliance's key comes with its order.
      '';
    };
    authority = lib.mkOption {
      type = lib.types.nullOr lib.types.lines;
      default = null;
      description = ''
        The certificates of the appliance's authorities, in PEM: what `coldiron ca show --pem` prints. With them, the installer talks only to an appliance
        that proves its identity. Without them, it can be used only with an appliance whose node API is off. Build the image again after a rotation.
      '';
    };
    files = lib.mkOption {
      type = lib.types.package;
      readOnly = true;
      description = "A folder with bzImage, initrd and netboot.ipxe, as the appliance serves them.";
    };
  };

  config = {
    # It keeps no state across releases.
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
      description = "Set the host name from the appliance";
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

    # coldiron.session=URL: carries out the appliance's order without a login.
    systemd.services.coldiron-install = {
      description = "Install this machine as ordered by the appliance";
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [
        "network-online.target"
        "sshd.service"
      ];
      unitConfig.ConditionKernelCommandLine = "coldiron.session";
      path = installTools;
      environment = {
        LIB = "${../../boot-assets/service-os}";
      }
      // lib.optionalAttrs (cfg.authority != null) {
        AUTHORITY = "${pkgs.writeText "coldiron-authority.pem" cfg.authority}";
      };
      serviceConfig = {
        Type = "exec";
        ExecStart = "${pkgs.runtimeShell} ${./.}/main.sh";
        # The scripts write to the console themselves.
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

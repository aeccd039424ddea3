# The options of NixOS, disko and sops-nix that we set, with their types, as far as we know. Add a line when a template
# or a module sets a new option, after looking it up. Options that newer releases rename are left out
# (services.journald's extraConfig).
let
  lib = import ./mini-lib.nix;
  t = lib.types;
  strings = t.listOf t.str;
  octet = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])";
  ipv4 = t.strMatching "(${octet}[.]){3}${octet}";
  length = t.ints.between 0 32;
  key = t.strMatching "(sk-)?(ssh-ed25519|ssh-rsa|ecdsa-sha2-[a-z0-9-]+)(@openssh.com)? [A-Za-z0-9+/=]+( [^\n]*)?";
  withDefault = type: default: type // { inherit default; };
  device = t.strMatching "/dev/[A-Za-z0-9/_.:+,=@-]+";
  size = t.strMatching "100%|[0-9]+[KMGTP]?";

  # disko: the possible contents of a partition, an array or a volume.
  content = {
    type = t.enum [ "filesystem" "swap" "mdraid" "lvm_pv" "luks" "zfs" ];
    format = t.enum [ "vfat" "ext4" "xfs" ];
    mountpoint = t.strMatching "/.*";
    mountOptions = strings;
    randomEncryption = t.bool;
    name = t.str;
    vg = t.str;
    pool = t.str;
    passwordFile = t.strMatching "/.*";
    settings.allowDiscards = t.bool;
    content = { type = t.enum [ "filesystem" ]; format = t.enum [ "ext4" "xfs" ]; mountpoint = t.strMatching "/.*"; };
  };

  upstream = name: { type = "derivation"; inherit name; outPath = "/nix/store/00000000000000000000000000000000-${name}"; };

  # A misspelt key of systemd.exec(5) and its kin is accepted by Nix and ignored by systemd, so the keys are listed.
  keysOf = names: lib.genAttrs names (_: t.anything);
in
{
  packages = [
    "bash" "coreutils" "curl" "dmidecode" "ethtool" "findutils" "gawk" "git" "gitMinimal" "gnugrep" "gnused" "gnutar" "gzip" "ipmitool" "iproute2" "jq"
    "kmod" "nvme-cli" "openssl" "shadow" "smartmontools" "systemd" "tpm2-tools" "util-linux" "vim"
  ];
  upstreamModules = [ "/installer/scan/not-detected.nix" "/installer/netboot/netboot-minimal.nix" ];
  options = {
    _module.args = t.attrsOf (t.listOf device);
    boot = {
      initrd.availableKernelModules = strings;
      kernel.sysctl = t.attrsOf (t.anything // { once = true; });
      kernelModules = strings;
      kernelParams = t.listOf (t.strMatching "([^\"[:space:]]|\"[^\"]*\")+");
      loader = {
        efi.canTouchEfiVariables = t.bool;
        grub = {
          enable = withDefault t.bool false;
          configurationLimit = t.ints.positive;
          efiSupport = t.bool;
          efiInstallAsRemovable = t.bool;
          mirroredBoots = t.listOf (t.submodule { options = { path = t.strMatching "/.*"; devices = strings; }; });
        };
        systemd-boot = { enable = withDefault t.bool false; configurationLimit = t.ints.positive; };
      };
      supportedFilesystems = withDefault (t.attrsOf t.bool) { zfs = true; };
      swraid = { enable = withDefault t.bool false; mdadmConf = t.lines; };
      zfs = { devNodes = t.strMatching "/dev/.*"; forceImportRoot = t.bool; package = withDefault t.package (upstream "zfs"); };
    };
    console.keyMap = t.str;
    disko.devices = {
      disk = t.attrsOf (t.submodule { options = {
        type = t.enum [ "disk" ];
        inherit device;
        content = {
          type = t.enum [ "gpt" ];
          partitions = t.attrsOf (t.submodule { options = { inherit size content; type = t.strMatching "EF0[02]"; priority = t.int; }; });
        };
      }; });
      mdadm = t.attrsOf (t.submodule { options = { inherit content; type = t.enum [ "mdadm" ]; level = t.int; metadata = t.enum [ "1.0" ]; }; });
      lvm_vg = t.attrsOf (t.submodule { options = {
        type = t.enum [ "lvm_vg" ];
        lvs = t.attrsOf (t.submodule { options = { inherit content; size = t.str; }; });
      }; });
      zpool = t.attrsOf (t.submodule { options = {
        type = t.enum [ "zpool" ];
        mode = t.enum [ "" "mirror" ];
        options = t.attrsOf t.str;
        rootFsOptions = t.attrsOf t.str;
        datasets = t.attrsOf (t.submodule { options = { type = t.enum [ "zfs_fs" ]; mountpoint = t.strMatching "/.*"; options = t.attrsOf t.str; }; });
      }; });
    };
    environment = {
      etc = t.attrsOf (t.submodule { options = { source = t.anything; text = t.lines; }; });
      systemPackages = withDefault (t.listOf t.package) [ ];
    };
    hardware = {
      enableRedistributableFirmware = withDefault t.bool true;
      cpu = { amd.updateMicrocode = t.bool; intel.updateMicrocode = t.bool; };
    };
    i18n.defaultLocale = t.str;
    networking = {
      bonds = t.attrsOf (t.submodule { options = { interfaces = strings; driverOptions = t.attrsOf t.str; }; });
      defaultGateway = { address = ipv4; interface = t.str; };
      domain = withDefault (t.nullOr t.str) null;
      firewall = {
        enable = t.bool;
        extraInputRules = withDefault t.lines "";
        interfaces = t.attrsOf (t.submodule { options = { allowedTCPPorts = t.listOf t.port; allowedUDPPorts = t.listOf t.port; }; });
      };
      hostId = t.strMatching "[0-9a-f]{8}";
      hostName = t.strMatching "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
      hosts = t.attrsOf strings;
      interfaces = t.attrsOf (t.submodule { options = {
        useDHCP = t.bool;
        mtu = t.int;
        ipv4 = {
          addresses = withDefault (t.listOf (t.submodule { options = { address = ipv4; prefixLength = length; }; })) [ ];
          routes = withDefault (t.listOf (t.submodule { options = { address = ipv4; prefixLength = length; via = ipv4; }; })) [ ];
        };
      }; });
      nameservers = t.listOf ipv4;
      nftables.enable = t.bool;
      search = strings;
      timeServers = strings;
      useDHCP = t.bool;
      usePredictableInterfaceNames = t.bool;
      vlans = t.attrsOf (t.submodule { options = { id = t.ints.between 1 4094; interface = t.str; }; });
    };
    nix = {
      gc = { automatic = t.bool; dates = t.str; options = t.str; };
      package = withDefault t.package (upstream "nix");
      settings.experimental-features = strings;
    };
    nixpkgs.hostPlatform = t.enum [ "x86_64-linux" "aarch64-linux" ];
    security.sudo = {
      wheelNeedsPassword = t.bool;
      extraRules = t.listOf (t.submodule {
        options = {
          users = strings;
          commands = t.listOf (t.submodule { options = { command = t.str; options = t.listOf (t.enum [ "NOPASSWD" ]); }; });
        };
      });
    };
    services = {
      openssh = {
        enable = t.bool;
        settings = { KbdInteractiveAuthentication = t.bool; PasswordAuthentication = t.bool; PermitRootLogin = t.enum [ "yes" "no" "prohibit-password" ]; };
      };
      timesyncd.enable = t.bool;
    };
    sops = {
      defaultSopsFile = t.anything;
      secrets = t.attrsOf (t.submodule { options = { group = t.str; mode = t.strMatching "0[0-7]{3}"; path = withDefault t.str "/run/secrets/of-sops"; }; });
    };
    system = {
      boot.loader.kernelFile = withDefault t.str "bzImage";
      build = withDefault (t.attrsOf t.anything) {
        kernel = "/kernel"; netbootIpxeScript = "/script"; netbootRamdisk = "/ramdisk"; nixos-install = upstream "nixos-install";
      };
      stateVersion = t.strMatching "[0-9]{2}[.](05|11)";
    };
    systemd = {
      network.links = t.attrsOf (t.submodule { options = { matchConfig.PermanentMACAddress = t.strMatching "([0-9a-f]{2}:){5}[0-9a-f]{2}"; linkConfig = { Name = t.str; MTUBytes = t.strMatching "[0-9]+"; }; }; });
      package = withDefault t.package (upstream "systemd");
      paths = t.attrsOf (t.submodule { options = { wantedBy = strings; pathConfig = keysOf [ "PathExists" ]; }; });
      services = t.attrsOf (t.submodule { options = {
        description = t.str;
        after = strings; before = strings; bindsTo = strings; wantedBy = strings; wants = strings;
        environment = t.attrsOf t.str;
        path = t.listOf t.package;
        restartTriggers = t.listOf t.anything;
        script = t.lines;
        serviceConfig = keysOf [
          "AmbientCapabilities" "CacheDirectory" "CapabilityBoundingSet" "EnvironmentFile" "ExecStart" "ExecStopPost" "Group" "LimitNOFILE"
          "LockPersonality" "MemoryDenyWriteExecute" "NoNewPrivileges" "NotifyAccess" "PrivateDevices" "PrivateTmp" "ProtectClock" "ProtectControlGroups"
          "ProtectHome" "ProtectHostname" "ProtectKernelLogs" "ProtectKernelModules" "ProtectKernelTunables" "ProtectProc"
          "ProtectSystem" "ReadWritePaths" "RemainAfterExit" "RemoveIPC" "Restart" "RestartSec" "RestrictAddressFamilies" "RestrictNamespaces"
          "RestrictRealtime" "RestrictSUIDSGID" "RuntimeDirectory" "RuntimeDirectoryMode" "StandardOutput" "StateDirectory" "StateDirectoryMode" "SystemCallArchitectures"
          "SystemCallErrorNumber" "SystemCallFilter" "Type" "UMask" "User"
        ];
        startLimitIntervalSec = t.int;
        unitConfig = keysOf [ "ConditionFileIsExecutable" "ConditionKernelCommandLine" "ConditionPathExists" "DefaultDependencies" ];
      }; });
      tmpfiles.rules = strings;
    };
    time.timeZone = t.strMatching "[^ ]+";
    users = {
      groups = t.attrsOf t.anything;
      mutableUsers = withDefault t.bool true;
      users = t.attrsOf (t.submodule { options = {
        isNormalUser = withDefault t.bool false;
        isSystemUser = withDefault t.bool false;
        extraGroups = withDefault strings [ ];
        group = t.str;
        openssh.authorizedKeys.keys = withDefault (t.listOf key) [ ];
      }; });
    };
  };
}

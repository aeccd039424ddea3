# Runs Coldiron on NixOS: one process with as few privileges as possible.
{ config, lib, pkgs, ... }:
let
  cfg = config.services.coldiron;
  yaml = pkgs.formats.yaml { };
  capabilities = [
    # DHCP, TFTP, and port 4011 next to them.
    "CAP_NET_BIND_SERVICE"
    # One socket for each interface.
    "CAP_NET_RAW"
  ];
in
{
  options.services.coldiron = {
    enable = lib.mkEnableOption "Coldiron, which provisions bare-metal servers";
    package = lib.mkOption {
      type = lib.types.package;
      default = pkgs.callPackage ./package.nix { };
      defaultText = lib.literalExpression "pkgs.callPackage ./package.nix { }";
      description = "Coldiron itself.";
    };
    settings = lib.mkOption {
      type = yaml.type;
      default = { };
      example = {
        listen.boot = "10.0.100.10:8080";
        inventory = [ "/etc/coldiron/inventory/*.yaml" ];
      };
      description = "The site file, coldiron.yaml. It is world-readable: name passwords as files.";
    };
    configFile = lib.mkOption {
      type = lib.types.str;
      default = "${yaml.generate "coldiron.yaml" cfg.settings}";
      defaultText = lib.literalMD "made from `settings`";
      description = "Your own site file, instead of the settings.";
    };
    provisioningInterfaces = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      example = [ "eth0" ];
      description = "The interfaces that machines boot from: the firewall opens DHCP, proxyDHCP, TFTP and the boot server only there.";
    };
    bootPort = lib.mkOption {
      type = lib.types.port;
      default = 8080;
      description = "The port of the boot server, as in the settings.";
    };
    nodePort = lib.mkOption {
      type = lib.types.nullOr lib.types.port;
      default =
        let
          listen = builtins.match ".*:([0-9]+)" (cfg.settings.listen.node or "off");
        in
        if listen == null then null else builtins.fromJSON (builtins.head listen);
      defaultText = lib.literalMD "the port of `settings.listen.node`";
      description = "The port of the node API, which installed nodes enroll at; null: it is off.";
    };
    nodeInterfaces = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = cfg.provisioningInterfaces;
      defaultText = lib.literalExpression "config.services.coldiron.provisioningInterfaces";
      description = "Where installed nodes reach the node API.";
    };
    pushTools = lib.mkOption {
      type = lib.types.listOf lib.types.package;
      default = [ ];
      example = lib.literalExpression "[ pkgs.nixos-anywhere pkgs.nix pkgs.openssh ]";
      description = "The programs that profiles with `install: push` need: nixos-anywhere, Nix and ssh. Without them nodes can only pull.";
    };
  };

  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ cfg.package ];

    networking.firewall.interfaces = lib.mkMerge [
      (lib.genAttrs cfg.provisioningInterfaces (_: {
        allowedTCPPorts = [ cfg.bootPort ];
        allowedUDPPorts = [
          67
          69
          4011
        ];
      }))
      (lib.mkIf (cfg.nodePort != null) (
        lib.genAttrs cfg.nodeInterfaces (_: {
          allowedTCPPorts = [ cfg.nodePort ];
        })
      ))
    ];

    users.groups.coldiron = { };
    users.users.coldiron = {
      isSystemUser = true;
      group = "coldiron";
    };

    systemd.services.coldiron = {
      description = "Coldiron, from a cold server to an enrolled node";
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ];
      # systemd-notify, with which it reports readiness.
      path = [ config.systemd.package ] ++ cfg.pushTools;
      environment.NODE_COMPILE_CACHE = "/var/cache/coldiron";
      serviceConfig = {
        Type = "notify";
        NotifyAccess = "all";
        ExecStart = "${cfg.package}/bin/coldiron serve --config ${cfg.configFile} --state /var/lib/coldiron";
        User = "coldiron";
        Group = "coldiron";
        StateDirectory = "coldiron";
        StateDirectoryMode = "0700";
        CacheDirectory = "coldiron";
        UMask = "0077";
        Restart = "on-failure";
        RestartSec = 2;
        AmbientCapabilities = capabilities;
        CapabilityBoundingSet = capabilities;
        NoNewPrivileges = true;
        LockPersonality = true;
        PrivateDevices = true;
        PrivateTmp = true;
        ProtectClock = true;
        ProtectControlGroups = true;
        ProtectHome = true;
        ProtectHostname = true;
        ProtectKernelLogs = true;
        ProtectKernelModules = true;
        ProtectKernelTunables = true;
        ProtectProc = "invisible";
        ProtectSystem = "strict";
        RemoveIPC = true;
        # No MemoryDenyWriteExecute: V8 compiles at run time.
        RestrictAddressFamilies = [
          "AF_INET"
          "AF_INET6"
          "AF_NETLINK"
          "AF_UNIX"
        ];
        RestrictNamespaces = true;
        RestrictRealtime = true;
        RestrictSUIDSGID = true;
        SystemCallArchitectures = "native";
        SystemCallErrorNumber = "EPERM";
        SystemCallFilter = [ "@system-service" ];
      };
    };
  };
}

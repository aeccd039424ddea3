# The node agent: enrolls the node, keeps its certificate, and does what it is told to. Its program and its environment file come
# with the bootstrap bundle; until both are there, the unit waits.
{ config, lib, pkgs, ... }:
let
  cfg = config.services.coldiron-node-agent;
in
{
  options.services.coldiron-node-agent = {
    enable = lib.mkEnableOption "the node agent of Coldiron";
    program = lib.mkOption {
      type = lib.types.str;
      default = "/opt/coldiron/node-agent/node-agent";
      description = "The agent itself.";
    };
    environmentFile = lib.mkOption {
      type = lib.types.str;
      default = "/etc/coldiron/node-agent.env";
      description = "Where the bootstrap bundle put what the agent needs to know. It holds a token: a text, not a path.";
    };
  };

  config = lib.mkIf cfg.enable {
    systemd.services.coldiron-node-agent = {
      description = "Coldiron node agent";
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ];
      path = [
        pkgs.coreutils
        pkgs.curl
        pkgs.gawk
        pkgs.gnugrep
        pkgs.gnused
        pkgs.iproute2
        pkgs.jq
        pkgs.openssl
        pkgs.util-linux
        config.systemd.package
      ];
      unitConfig.ConditionPathExists = [
        cfg.program
        cfg.environmentFile
      ];
      # An agent that cannot reach its control plane tries for as long as it takes.
      startLimitIntervalSec = 0;
      serviceConfig = {
        Type = "simple";
        ExecStart = cfg.program;
        EnvironmentFile = cfg.environmentFile;
        Restart = "always";
        RestartSec = 5;
        UMask = "0077";
        StateDirectory = "coldiron";
        StateDirectoryMode = "0700";
        ProtectSystem = "strict";
        ReadWritePaths = [ (dirOf cfg.environmentFile) ];
        NoNewPrivileges = true;
        PrivateTmp = true;
        ProtectHome = true;
        ProtectControlGroups = true;
        ProtectKernelLogs = true;
        ProtectKernelModules = true;
        ProtectKernelTunables = true;
        LockPersonality = true;
        MemoryDenyWriteExecute = true;
        RestrictNamespaces = true;
        RestrictRealtime = true;
        RestrictSUIDSGID = true;
        SystemCallArchitectures = "native";
      };
    };
    # The bundle brings the files; the folders are there before it, and the unit starts with the file that makes it whole.
    systemd.tmpfiles.rules = [
      "d ${dirOf cfg.environmentFile} 0755 root root - -"
      "d ${dirOf cfg.program} 0755 root root - -"
    ];
    systemd.paths.coldiron-node-agent = {
      wantedBy = [ "multi-user.target" ];
      pathConfig.PathExists = cfg.environmentFile;
    };
  };
}

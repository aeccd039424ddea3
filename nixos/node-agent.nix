# The node agent: enrolls the node, renews its certificate, and runs tasks. Its program and its environment file come
# with the bootstrap bundle; the unit waits until both exist.
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
      description = "The agent's program.";
    };
    environmentFile = lib.mkOption {
      type = lib.types.str;
      default = "/etc/coldiron/node-agent.env";
      description = "The agent's environment file from the bootstrap bundle. It contains a token, so this is a string, not a path.";
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
        pkgs.shadow
        pkgs.util-linux
        config.systemd.package
      ];
      unitConfig.ConditionPathExists = [
        cfg.program
        cfg.environmentFile
      ];
      # An agent that cannot reach its control plane retries forever.
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
    # The bundle contains the files; the folders exist before it, and the unit starts when the last file is written.
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

# services.chainfire, services.flaredb and so on: each runs its program with its settings, as its own user, and opens its ports to
# permitted clients. A missing program is no error: the unit waits for the next start.
{ config, lib, pkgs, ... }:
let
  table = import ./cluster-services.nix;
  toml = pkgs.formats.toml { };
  group = "coldiron-cluster";
  prefix = lib.types.strMatching "[0-9]{1,3}([.][0-9]{1,3}){3}/[0-9]{1,2}";

  portOption =
    purpose: default:
    lib.mkOption {
      type = lib.types.port;
      inherit default;
      description = "The port for ${purpose}.";
    };

  optionsOf =
    name: service:
    {
      enable = lib.mkEnableOption "${name}, a service of the cluster";
      package = lib.mkOption {
        type = lib.types.nullOr lib.types.package;
        default = null;
        description = "The package of its program; null: the program is installed in /opt/cluster/bin by other means.";
      };
      program = lib.mkOption {
        type = lib.types.str;
        default =
          let
            package = config.services.${name}.package;
          in
          if package == null then "/opt/cluster/bin/${name}-server" else "${package}/bin/${name}-server";
        defaultText = lib.literalMD "`<name>-server` of the package";
        description = "The program.";
      };
      port = portOption "its API" service.port;
      settings = lib.mkOption {
        type = toml.type;
        default = { };
        description = "The content of /etc/nixos/${name}.toml. It is world-readable: name files here, not secrets.";
      };
    }
    // lib.optionalAttrs (service ? raftPort) { raftPort = portOption "its members" service.raftPort; }
    // lib.optionalAttrs (service ? gossipPort) { gossipPort = portOption "gossip" service.gossipPort; };

  settingsOf =
    name:
    let
      cfg = config.services.${name};
    in
    cfg.settings
    // {
      port = cfg.port;
    }
    // lib.optionalAttrs (cfg ? raftPort) { raft_port = cfg.raftPort; }
    // lib.optionalAttrs (cfg ? gossipPort) { gossip_port = cfg.gossipPort; };

  fileOf = name: toml.generate "${name}.toml" (settingsOf name);

  unitOf =
    name:
    let
      cfg = config.services.${name};
      needsLowPort = cfg.port < 1024;
    in
    {
      description = "${name} of the cluster";
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ];
      restartTriggers = [ (fileOf name) ];
      unitConfig.ConditionFileIsExecutable = cfg.program;
      serviceConfig = {
        ExecStart = "${cfg.program} --config /etc/nixos/${name}.toml";
        User = name;
        Group = group;
        StateDirectory = name;
        StateDirectoryMode = "0700";
        UMask = "0077";
        Restart = "on-failure";
        RestartSec = 5;
        LimitNOFILE = 65536;
        NoNewPrivileges = true;
        PrivateTmp = true;
        ProtectHome = true;
        ProtectSystem = "strict";
        ProtectKernelModules = true;
        ProtectKernelLogs = true;
        RestrictSUIDSGID = true;
        LockPersonality = true;
      }
      // lib.optionalAttrs needsLowPort { AmbientCapabilities = [ "CAP_NET_BIND_SERVICE" ]; };
    };

  enabled = lib.filter (name: config.services.${name}.enable) (lib.attrNames table);

  # For nftables: sources and ports. Members may reach every port of the service.
  ruleFrom =
    from: protocol: ports:
    lib.optional (from != [ ]) "ip saddr { ${lib.concatStringsSep ", " from} } ${protocol} dport { ${lib.concatMapStringsSep ", " toString ports} } accept";
  rulesOf =
    name:
    let
      cfg = config.services.${name};
      inherit (config.coldiron.cluster) membersFrom insideFrom;
      all = [ cfg.port ] ++ lib.optional (cfg ? raftPort) cfg.raftPort ++ lib.optional (cfg ? gossipPort) cfg.gossipPort;
      api = table.${name}.api == "inside";
    in
    ruleFrom membersFrom "tcp" all
    ++ lib.optionals api (ruleFrom insideFrom "tcp" [ cfg.port ])
    ++ lib.optionals (table.${name}.udp or false) (ruleFrom (lib.unique (membersFrom ++ insideFrom)) "udp" [ cfg.port ]);
in
{
  options.services = lib.mapAttrs optionsOf table;

  options.coldiron.cluster = {
    membersFrom = lib.mkOption {
      type = lib.types.listOf prefix;
      default = [ ];
      description = "The networks of the cluster members.";
    };
    insideFrom = lib.mkOption {
      type = lib.types.listOf prefix;
      default = [ ];
      description = "The networks whose machines may use the cluster's services.";
    };
  };

  config = lib.mkIf (enabled != [ ]) {
    systemd.services = lib.genAttrs enabled unitOf;
    environment.etc = lib.listToAttrs (
      map (name: lib.nameValuePair "nixos/${name}.toml" { source = fileOf name; }) enabled
    );
    users.groups.${group} = { };
    users.users = lib.genAttrs enabled (_: {
      isSystemUser = true;
      inherit group;
    });
    # Keys are placed for root only; the services read them through their group.
    systemd.tmpfiles.rules = [
      "z /etc/nixos/secrets 0750 root ${group} - -"
      "z /etc/nixos/secrets/*-key.pem 0640 root ${group} - -"
    ];
    # The rules below use its syntax.
    networking.nftables.enable = lib.mkDefault true;
    networking.firewall.extraInputRules = lib.concatMapStrings (rule: rule + "\n") (lib.concatMap rulesOf enabled);
  };
}

# The first boot of a member: its services start, it bootstraps or joins the cluster, and logs to the journal. Each unit runs
# once; a failed one is retried, also after a reboot.
{ config, lib, pkgs, ... }:
let
  cfg = config.services.first-boot-automation;
  table = import ../cluster-services.nix;
  state = "first-boot-automation";
  isOn = name: config.services.${name}.enable;

  unit = description: after: environment: script: {
    inherit description;
    wantedBy = [ "multi-user.target" ];
    wants = [ "network-online.target" ];
    after = [ "network-online.target" ] ++ after;
    path = [
      pkgs.coreutils
      pkgs.curl
      pkgs.jq
    ];
    environment = {
      CONFIG_FILE = cfg.configFile;
      CA_FILE = cfg.caFile;
      STATE_FOLDER = "/var/lib/${state}";
      TIMEOUT_SECONDS = toString cfg.timeoutSeconds;
    }
    // environment;
    unitConfig.ConditionPathExists = cfg.configFile;
    # It retries forever: the first member may start after the others.
    startLimitIntervalSec = 0;
    serviceConfig = {
      Type = "oneshot";
      RemainAfterExit = true;
      ExecStart = "${pkgs.runtimeShell} ${script}";
      StateDirectory = state;
      Restart = "on-failure";
      RestartSec = 10;
    };
  };

  joinUnit =
    name:
    unit "${name} forms or joins its cluster" (lib.optional (isOn name) "${name}.service") {
      SERVICE = name;
      LOCAL_URL = lib.optionalString (isOn name) "https://localhost:${toString config.services.${name}.port}";
      API_PORT = toString config.services.${name}.port;
      RAFT_PORT = toString config.services.${name}.raftPort;
    } ./cluster-join.sh;

  # A name server does not speak HTTP.
  healthy = lib.filter (name: isOn name && !(table.${name}.udp or false)) (lib.attrNames table);
in
{
  imports = [ ../services.nix ];

  options.services.first-boot-automation = {
    enable = lib.mkEnableOption "forming or joining the cluster on the first boot";
    configFile = lib.mkOption {
      type = lib.types.str;
      default = "/etc/nixos/secrets/cluster-config.json";
      description = "The file with this node's role in its cluster. A string, not a path: it must not be copied to the Nix store.";
    };
    caFile = lib.mkOption {
      type = lib.types.str;
      default = "/etc/nixos/secrets/ca-cert.pem";
      description = "The CA certificate that verifies the other members.";
    };
    timeoutSeconds = lib.mkOption {
      type = lib.types.ints.positive;
      default = 120;
      description = "How long one attempt waits for a service to become healthy.";
    };
  };

  config = lib.mkIf cfg.enable {
    systemd.services = {
      # A node that does not run the service itself is still announced to the other members.
      chainfire-cluster-join = joinUnit "chainfire";
      cluster-health-check = unit "the services of this node answer" [ "chainfire-cluster-join.service" ] {
        HEALTH_URLS = lib.concatMapStringsSep " " (
          name: "https://localhost:${toString config.services.${name}.port}/health"
        ) healthy;
      } ./health-check.sh;
    }
    // lib.optionalAttrs (isOn "flaredb") {
      flaredb-cluster-join =
        let
          join = joinUnit "flaredb";
        in
        join // { after = join.after ++ [ "chainfire-cluster-join.service" ]; };
    };
  };
}

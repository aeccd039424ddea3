# Runs the site's own script on the first boot, before our units, and records its result separately, so that a failure can be
# attributed. A new version runs once more.
{ config, lib, pkgs, ... }:
let
  cfg = config.services.site-bootstrap;
  folder = "coldiron/site-bootstrap";
  outcome = "/var/lib/${folder}/${cfg.name}-${cfg.version}";
  script = pkgs.writeScript "site-bootstrap-${cfg.name}" cfg.script;
  keepOutcome = pkgs.writeShellScript "site-bootstrap-outcome" ''
    printf '%s %s\n' "$SERVICE_RESULT" "''${EXIT_STATUS-}" >${outcome}.outcome
    if [ "$SERVICE_RESULT" = success ]; then : >${outcome}.done; fi
  '';
in
{
  options.services.site-bootstrap = {
    enable = lib.mkEnableOption "the site's own script on the first boot";
    name = lib.mkOption {
      type = lib.types.strMatching "[A-Za-z0-9][A-Za-z0-9._+-]*";
      description = "The site's name for it.";
    };
    version = lib.mkOption {
      type = lib.types.strMatching "[A-Za-z0-9][A-Za-z0-9._+-]*";
      description = "Must change when the script changes.";
    };
    script = lib.mkOption {
      type = lib.types.str;
      description = "The whole script, including its first line.";
    };
  };

  config = lib.mkIf cfg.enable {
    systemd.services.site-bootstrap = {
      description = "Bootstrap of the site: ${cfg.name} ${cfg.version}";
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ];
      before = [
        "chainfire-cluster-join.service"
        "coldiron-node-agent.service"
      ];
      path = [
        pkgs.bash
        pkgs.curl
        pkgs.gnutar
        pkgs.gzip
        pkgs.jq
        pkgs.util-linux
        config.systemd.package
      ];
      unitConfig.ConditionPathExists = "!${outcome}.done";
      serviceConfig = {
        Type = "oneshot";
        RemainAfterExit = true;
        StateDirectory = folder;
        StateDirectoryMode = "0700";
        ExecStart = "${script}";
        # $SERVICE_RESULT and $EXIT_STATUS are set by systemd (systemd.exec(5)).
        ExecStopPost = "${keepOutcome}";
      };
    };
  };
}

# Links that must not drop frames (RoCE): the switch may pause one traffic class of them with priority flow control.
{ config, lib, pkgs, ... }:
let
  links = config.coldiron.lossless;
  deviceOf = name: "sys-subsystem-net-devices-${lib.replaceStrings [ "-" ] [ "\\x2d" ] name}.device";
in
{
  options.coldiron.lossless = lib.mkOption {
    default = { };
    description = "By link name.";
    type = lib.types.attrsOf (
      lib.types.submodule {
        options.priority = lib.mkOption {
          type = lib.types.ints.between 0 7;
          description = "The traffic class that is paused instead of dropped.";
        };
      }
    );
  };

  config.systemd.services = lib.mapAttrs' (
    name: link:
    lib.nameValuePair "lossless-${name}" {
      description = "Priority flow control on ${name}";
      wantedBy = [ "multi-user.target" ];
      bindsTo = [ (deviceOf name) ];
      after = [ (deviceOf name) ];
      serviceConfig = {
        Type = "oneshot";
        RemainAfterExit = true;
        ExecStart = "${pkgs.iproute2}/bin/dcb pfc set dev ${name} prio-pfc all:off ${toString link.priority}:on";
      };
    }
  ) links;
}

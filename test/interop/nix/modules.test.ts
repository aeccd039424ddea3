// The flake of a site, our own flake, and our modules, evaluated by Nix itself.

import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_SERVICES } from '../../../appliance/domain/cluster-services.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import { at } from '../../render/nixos/expected-configuration.ts';
import {
  type Evaluated,
  evaluate,
  inFolder,
  MINI_SYSTEM,
  mustEvaluate,
  REPOSITORY,
  siteFiles,
} from '../../render/nixos/nix-evaluation.ts';
import { objectionsIn } from '../../render/nixos/nixos-objections.ts';
import { NIXOS_SAMPLES, RESOLVED, SAMPLE_PLANS } from '../../render/plans.ts';
import { needPackages } from '../packages.ts';

beforeAll(() => needPackages(['nix-bin']));

describe('the flake of a site', () => {
  const outputs = (plans: readonly NodePlan[], ask: string): Evaluated =>
    inFolder(siteFiles(plans), (folder) =>
      mustEvaluate(`let ${MINI_SYSTEM}
        flake = import ${folder}/flake.nix;
        nixpkgs.lib.nixosSystem = { modules }: {
          config = evaluateModules { root = ${folder}; inherit schema; entry = builtins.elemAt modules (builtins.length modules - 1); }
            // { system.build.toplevel = "a system"; };
        };
        disko.nixosModules.disko = { };
        sops-nix.nixosModules.sops = { };
        self = outputs;
        outputs = flake.outputs { inherit self nixpkgs disko sops-nix; };
      in ${ask}`),
    );

  it('has every node by its host name, as a system and as a package of its platform', () => {
    expect(outputs(NIXOS_SAMPLES, 'builtins.attrNames outputs.nixosConfigurations')).toEqual(
      NIXOS_SAMPLES.map(({ hostname }) => hostname).sort(),
    );
    expect(
      outputs(RESOLVED, 'builtins.mapAttrs (_: node: node.config.networking.hostName) outputs.nixosConfigurations'),
    ).toEqual(Object.fromEntries(RESOLVED.map(({ hostname }) => [hostname, hostname])));
    expect(outputs(RESOLVED, 'outputs.packages.aarch64-linux')).toEqual({ bonded01: 'a system' });
    expect(outputs(RESOLVED, 'outputs.packages.x86_64-linux.node01')).toBe('a system');
  });

  it('names sops-nix only where a node uses it', () => {
    const inputs = (plans: readonly NodePlan[]) =>
      inFolder(siteFiles(plans), (folder) => mustEvaluate(`builtins.attrNames (import ${folder}/flake.nix).inputs`));
    expect(inputs([SAMPLE_PLANS.controlPlane])).toEqual(['disko', 'nixpkgs']);
    expect(inputs([SAMPLE_PLANS.allInOne])).toEqual(['disko', 'nixpkgs', 'sops-nix']);
  });
});

describe('our modules', () => {
  const moduleConfig = (entry: string, settings: string): ReturnType<typeof evaluate> =>
    evaluate(`let ${MINI_SYSTEM}
      in removeAttrs (evaluateModules { root = ${REPOSITORY}; inherit schema; entry = ${REPOSITORY}/nixos/${entry}; extra = [ (${settings}) ]; }) [ "_module" ]`);
  const mustConfigure = (entry: string, settings: string): Evaluated => {
    const { ok, output, error } = moduleConfig(entry, settings);
    if (!ok) throw new Error(error);
    return JSON.parse(output);
  };

  it('have the same services and ports as the appliance', () => {
    const ours = Object.fromEntries(
      CLUSTER_SERVICES.map(({ name, ports, api }) => {
        const port = (purpose: string) => ports.find((one) => one.purpose === purpose)?.port;
        return [
          name,
          {
            port: port('api'),
            ...(port('raft') === undefined ? {} : { raftPort: port('raft') }),
            ...(port('gossip') === undefined ? {} : { gossipPort: port('gossip') }),
            ...(ports.some(({ udp }) => udp) ? { udp: true } : {}),
            api,
          },
        ];
      }),
    );
    expect(mustEvaluate(`import ${REPOSITORY}/nixos/cluster-services.nix`)).toEqual(ours);
  });

  it('open the ports between members to members only', () => {
    const found = mustConfigure(
      'services.nix',
      '{ services.chainfire.enable = true; services.iam.enable = true; coldiron.cluster.membersFrom = [ "10.0.200.0/24" ]; coldiron.cluster.insideFrom = [ "10.0.0.0/8" ]; }',
    );
    expect(at(found, 'networking', 'firewall', 'extraInputRules')).toBe(
      [
        'ip saddr { 10.0.200.0/24 } tcp dport { 2379, 2380, 2381 } accept',
        'ip saddr { 10.0.200.0/24 } tcp dport { 8080 } accept',
        'ip saddr { 10.0.0.0/8 } tcp dport { 8080 } accept',
        '',
      ].join('\n'),
    );
    expect(at(found, 'users', 'users', 'iam', 'isSystemUser')).toBe(true);
    expect(moduleConfig('services.nix', '{ coldiron.cluster.membersFrom = [ "any } accept" ]; }').error).toContain(
      'is not',
    );
  });

  it('run a service only when its program exists, with its settings, and with a low port only where it needs one', () => {
    const found = mustConfigure('services.nix', '{ services.flashdns.enable = true; services.iam.enable = true; }');
    const unit = at(found, 'systemd', 'services', 'flashdns');
    expect(at(unit, 'unitConfig', 'ConditionFileIsExecutable')).toBe('/opt/cluster/bin/flashdns-server');
    expect(at(unit, 'serviceConfig', 'AmbientCapabilities')).toEqual(['CAP_NET_BIND_SERVICE']);
    expect(at(found, 'systemd', 'services', 'iam', 'serviceConfig', 'AmbientCapabilities')).toBeUndefined();
    expect(at(found, 'systemd', 'services', 'chainfire')).toBeUndefined();
  });

  it("run the site's bootstrap before our units, once for each version", () => {
    const found = mustConfigure(
      'common/base.nix',
      '{ services.site-bootstrap = { enable = true; name = "base"; version = "2"; script = "#!/bin/sh\\n"; }; services.coldiron-node-agent.enable = true; services.first-boot-automation.enable = true; }',
    );
    const unit = at(found, 'systemd', 'services', 'site-bootstrap');
    expect(at(unit, 'before')).toEqual(['chainfire-cluster-join.service', 'coldiron-node-agent.service']);
    expect(at(unit, 'unitConfig', 'ConditionPathExists')).toBe('!/var/lib/coldiron/site-bootstrap/base-2.done');
    expect(at(found, 'systemd', 'services', 'chainfire-cluster-join')).toBeDefined();
    expect(at(found, 'systemd', 'services', 'coldiron-node-agent')).toBeDefined();
  });

  it("open the appliance's ports on its interfaces only", () => {
    const found = mustConfigure(
      'appliance/module.nix',
      '{ services.coldiron = { enable = true; provisioningInterfaces = [ "eth0" ]; }; }',
    );
    expect(at(found, 'networking', 'firewall', 'interfaces')).toEqual({
      eth0: { allowedTCPPorts: [8080], allowedUDPPorts: [67, 69, 4011] },
    });
    const withNodes = mustConfigure(
      'appliance/module.nix',
      '{ services.coldiron = { enable = true; provisioningInterfaces = [ "eth0" ]; nodeInterfaces = [ "eth0" "eth1" ]; settings.listen.node = "0.0.0.0:8444"; }; }',
    );
    expect(at(withNodes, 'networking', 'firewall', 'interfaces')).toEqual({
      eth0: { allowedTCPPorts: [8080, 8444], allowedUDPPorts: [67, 69, 4011] },
      eth1: { allowedTCPPorts: [8444] },
    });
    expect(at(found, 'systemd', 'services', 'coldiron', 'serviceConfig', 'ExecStart')).toContain(
      'coldiron serve --config',
    );
    expect(at(mustConfigure('appliance/module.nix', '{ }'), 'systemd', 'services')).toBeNull();
  });

  it('make an installer with the configured keys', () => {
    const found = mustConfigure('installer/netboot.nix', '{ coldiron.installer.sshKeys = [ "ssh-ed25519 AAAA me" ]; }');
    expect(at(found, 'users', 'users', 'root', 'openssh', 'authorizedKeys', 'keys')).toEqual(['ssh-ed25519 AAAA me']);
  });

  it('make an installer that trusts the configured authority, and by default none', () => {
    const environmentOf = (settings: string): unknown =>
      at(mustConfigure('installer/netboot.nix', settings), 'systemd', 'services', 'coldiron-install', 'environment');
    expect(environmentOf('{ coldiron.installer.authority = "-----BEGIN CERTIFICATE-----\\n"; }')).toMatchObject({
      AUTHORITY: expect.stringContaining('coldiron-authority.pem'),
    });
    expect(environmentOf('{ }')).not.toHaveProperty('AUTHORITY');
  });

  it("pass NixOS' assertions, each by itself", () => {
    const everything = CLUSTER_SERVICES.map(({ name }) => `services.${name}.enable = true;`).join(' ');
    const state = 'system.stateVersion = "24.11";';
    const members = 'coldiron.cluster.membersFrom = [ "10.0.200.0/24" ];';
    for (const [entry, settings] of [
      ['appliance/module.nix', '{ services.coldiron.enable = true; STATE }'],
      ['installer/netboot.nix', '{ }'],
      ['profiles/control-plane.nix', `{ ${everything} ${members} STATE }`],
      ['profiles/all-in-one.nix', `{ ${everything} ${members} STATE }`],
      ['common/base.nix', `{ ${everything} ${members} services.first-boot-automation.enable = true; STATE }`],
    ] as const)
      expect(objectionsIn(mustConfigure(entry, settings.replace('STATE', state))), entry).toEqual([]);
  });

  it('are attribute sets in the flake, which old and new Nix accept as modules', () => {
    const kinds = mustEvaluate(`let
        lib = { genAttrs = _: _: { }; nixosSystem = _: { }; };
        outputs = (import ${REPOSITORY}/flake.nix).outputs { self = outputs; nixpkgs = { inherit lib; legacyPackages = { }; }; };
      in builtins.mapAttrs (_: module: builtins.all builtins.pathExists module.imports) outputs.nixosModules`);
    expect(kinds).toEqual({
      'all-in-one': true,
      appliance: true,
      'control-plane': true,
      default: true,
      'netboot-installer': true,
      node: true,
      worker: true,
    });
  });
});

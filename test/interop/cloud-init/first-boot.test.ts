// A real first boot with cloud-init: its four stages, in systemd's order, with the seed that we render.

import { beforeAll, describe, expect, it } from 'vitest';
import { cloudInitFailed, readNodeSystem } from '../../../appliance/domain/events/node-system.ts';
import { renderCloudInit } from '../../../appliance/render/cloud-init/cloud-init.ts';
import type { FirstBootExtras } from '../../../appliance/render/installers/first-boot.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import { MAAS, TEMPLATES } from '../../render/installers/samples.ts';
import { SAMPLE_PLANS } from '../../render/plans.ts';
import { DebianRoot, type Ran } from './debian-root.ts';

let debian: DebianRoot;
beforeAll(async () => {
  debian = await DebianRoot.prepare();
}, 1_800_000);

/** Each part that runs adds a line; a part that must not run leaves none. */
const tells = (who: string, code = 0): string => `#!/bin/sh\necho ${who} >> /var/log/order\nexit ${code}\n`;

const planWith = (siteScript: string): NodePlan => ({
  ...SAMPLE_PLANS.debian,
  siteBootstrap: { name: 'baseline', version: '7', script: siteScript },
  enrollment: 'first-boot',
  packages: ['local-tool'],
  kernelParameters: [],
  // Generating another locale takes longer than everything else.
  locale: 'C.UTF-8',
});

const EXTRAS: FirstBootExtras = {
  ...MAAS,
  nodeParts: [{ name: 'agent', version: '1.0', script: tells('node') }],
};

/** Its part tells which part failed, and does nothing else then. */
const REPORTING: FirstBootExtras = {
  ...EXTRAS,
  nodeParts: EXTRAS.nodeParts.map((part) => ({
    ...part,
    reports: true,
    script: `#!/bin/sh\n[ "$1" != --report ] || { echo "reports $2" >> /var/log/order; exit 0; }\n${part.script}`,
  })),
};

const seed = (
  plan: NodePlan,
  extras: FirstBootExtras,
  folder = '/var/lib/cloud/seed/nocloud',
): Record<string, string> =>
  Object.fromEntries(renderCloudInit(plan, extras, TEMPLATES).map(({ path, text }) => [`${folder}/${path}`, text]));

const MACHINE = {
  '/etc/cloud/cloud.cfg.d/99-test.cfg': 'datasource_list: [NoCloud]\napt: {preserve_sources_list: true}\n',
  '/tool/DEBIAN/control':
    'Package: local-tool\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: a tool\n',
  '/tool/DEBIAN/postinst': tells('package'),
};

const PREPARED = `
  rm -f /etc/apt/sources.list.d/* /etc/apt/sources.list
  mkdir /repository
  dpkg-deb --build --root-owner-group /tool /repository/tool.deb > /dev/null
  cd /repository
  { cat /tool/DEBIAN/control; echo Filename: ./tool.deb; echo Size: $(stat -c %s tool.deb)
    echo SHA256: $(sha256sum tool.deb | cut -d ' ' -f 1); } > Packages
  cd /
  echo 'deb [trusted=yes] file:/repository ./' > /etc/apt/sources.list.d/local.list
  ip link add card0 address 52:54:00:12:34:5a type veth peer name far0
  ip link add card1 address 52:54:00:22:34:5a type veth peer name far1`;

const BOOT = `
  rm -rf /run/cloud-init
  for stage in 'init --local' init 'modules --mode=config' 'modules --mode=final'; do cloud-init $stage || true; done`;

const errorsOf = (ran: Ran): string[] => JSON.parse(ran.read('/var/lib/cloud/data/result.json')).v1.errors;
const statusOf = (ran: Ran, part: string): unknown => JSON.parse(ran.read(`/var/lib/coldiron/${part}.status`));
const orderIn = (ran: Ran): string[] => ran.read('/var/log/order').trim().split('\n');

describe('the first boot of a cloud image', () => {
  it('configures the machine as planned: the site first, then packages, then the node, each with its result', async () => {
    const given = { ...MACHINE, ...seed({ ...planWith(tells('site')), locale: 'en_US.UTF-8' }, EXTRAS) };
    const after = `
      ip -br link > /links
      hostname > /name
      mkdir -p /run/sshd
      sshd -T > /sshd
      sudo -l -U operator > /sudo
      stat -c '%a %U %n' /var/lib/coldiron/*/* /etc/ssh/sshd_config.d/10-coldiron.conf > /modes`;
    const ran = await debian.run(`${PREPARED}\n${BOOT}\n${after}`, given);
    expect(errorsOf(ran), ran.output).toEqual([]);
    expect(orderIn(ran)).toEqual(['site', 'package', 'node']);

    expect(ran.read('/links')).toMatch(/^eth0@.*52:54:00:12:34:5a/m);
    expect(ran.read('/links')).toMatch(/^eth1@.*52:54:00:22:34:5a/m);
    expect(ran.read('/name')).toBe('node05\n');
    expect(ran.read('/etc/hosts')).toMatch(/^127\.0\.1\.1\s+node05\.example\.com\s+node05$/m);
    expect(ran.read('/etc/passwd')).toMatch(/^operator:x:1000:\d+:.*:\/home\/operator:\/bin\/bash$/m);
    expect(ran.read('/etc/passwd')).not.toMatch(/^debian:/m);
    expect(ran.read('/etc/shadow')).toMatch(/^operator:!:/m);
    expect(ran.read('/home/operator/.ssh/authorized_keys')).toBe(`${SAMPLE_PLANS.debian.accounts[0]?.sshKeys[0]}\n`);
    expect(ran.read('/sudo')).toMatch(/NOPASSWD: \/usr\/bin\/systemctl restart nginx.service, \/usr\/bin\/id ""/);
    for (const line of ['passwordauthentication no', 'kbdinteractiveauthentication no', 'permitrootlogin no']) {
      expect(ran.read('/sshd')).toContain(line);
    }
    expect(ran.read('/etc/systemd/timesyncd.conf.d/cloud-init.conf')).toContain('NTP=ntp.example.com');
    expect(ran.read('/etc/timezone')).toBe('UTC\n');
    expect(ran.read('/etc/default/locale')).toContain('en_US.UTF-8');
    for (const line of ran.read('/modes').trim().split('\n')) expect(line).toMatch(/^(700|600) root /);

    const ended = { instance: EXTRAS.instanceId, outcome: 'succeeded', exit: 0 };
    expect(statusOf(ran, 'site-bootstrap/baseline-7')).toMatchObject({
      part: 'site-bootstrap',
      version: '7',
      ...ended,
    });
    expect(statusOf(ran, 'node-bootstrap/agent-1.0')).toMatchObject({
      part: 'node-bootstrap',
      name: 'agent',
      ...ended,
    });
    expect(ran.output).toContain('coldiron first boot: {"part":"site-bootstrap","name":"baseline","version":"7"');
  });

  it('attributes a failure, and does not enroll a machine whose site bootstrap failed', async () => {
    const status = '\n cloud-init status --format json > /status.json || true';
    const ran = await debian.run(`${PREPARED}\n${BOOT}${status}`, {
      ...MACHINE,
      ...seed(planWith(tells('site', 3)), REPORTING),
    });
    expect(orderIn(ran)).toEqual(['site', 'package', 'reports /var/lib/coldiron/site-bootstrap/baseline-7']);
    expect(statusOf(ran, 'site-bootstrap/baseline-7')).toMatchObject({ outcome: 'failed', exit: 3 });
    expect(statusOf(ran, 'node-bootstrap/agent-1.0')).toMatchObject({ outcome: 'not-run' });
    expect(ran.has('/var/lib/coldiron/node-bootstrap/agent-1.0')).toBe(false);
    expect(errorsOf(ran).join('\n')).toMatch(/scripts-vendor/);
    expect(ran.read('/var/log/cloud-init.log')).toContain('scripts/vendor/10-site-baseline-7');
    // As its agent would report it.
    for (const output of [ran.read('/status.json'), ran.read('/var/lib/cloud/data/result.json')]) {
      const system = readNodeSystem('', output);
      expect(cloudInitFailed(system), output).toBe(true);
      expect(system.cloud_init?.errors.join('\n')).toMatch(/scripts-vendor/);
    }
  });

  it('runs once for each deployment', async () => {
    const given = {
      ...MACHINE,
      ...seed(planWith(tells('site')), EXTRAS),
      ...seed(planWith(tells('site')), { ...EXTRAS, instanceId: 'deployment-0003' }, '/next'),
    };
    const program = `${PREPARED}\n${BOOT}\n${BOOT}\n echo again >> /var/log/order
      cp /next/* /var/lib/cloud/seed/nocloud/\n${BOOT}`;
    const ran = await debian.run(program, given);
    expect(orderIn(ran)).toEqual(['site', 'package', 'node', 'again', 'site', 'node']);
  });
});

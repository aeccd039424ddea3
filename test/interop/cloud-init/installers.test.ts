// The installers' answer files, read by the programs that use them, or by their libraries.

import { beforeAll, describe, expect, it } from 'vitest';
import { renderIgnition } from '../../../appliance/render/installers/ignition.ts';
import { networkManagerFiles } from '../../../appliance/render/installers/network-manager.ts';
import { renderPreseed } from '../../../appliance/render/installers/preseed.ts';
import { settledLinks } from '../../../appliance/render/installers/settled-links.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import { INSTALLER_CASES, type MAAS, TEMPLATES } from '../../render/installers/samples.ts';
import { SAMPLE_PLANS } from '../../render/plans.ts';
import { DebianRoot } from './debian-root.ts';

let debian: DebianRoot;
beforeAll(async () => {
  debian = await DebianRoot.prepare();
}, 1_800_000);

const all = <T extends object>(
  cases: readonly (readonly [string, NodePlan, typeof MAAS])[],
  make: (plan: NodePlan, extras: typeof MAAS) => T,
): [string, T][] => cases.map(([name, plan, extras]) => [name, make(plan, extras)]);

describe("Debian's installer", () => {
  it('accepts its answers, and reads each with the intended value', async () => {
    const given = Object.fromEntries(
      all(INSTALLER_CASES.preseed, (plan, extras) => renderPreseed(plan, extras, TEMPLATES)).map(([name, files]) => [
        `/answers/${name}`,
        files.find(({ path }) => path === 'preseed.cfg')?.text ?? '',
      ]),
    );
    const program = `
      for f in /answers/*; do debconf-set-selections --checkonly "$f"; done
      debconf-set-selections /answers/single
      printf '%s\\n' 'get netcfg/get_hostname' 'get partman-auto/disk' 'get pkgsel/include' 'get time/zone' |
        DEBIAN_FRONTEND=noninteractive debconf-communicate d-i`;
    const ran = await debian.run(program, given);
    expect(ran).toMatchObject({ status: 0 });
    expect(ran.output.trim().split('\n')).toEqual([
      '0 node01',
      '0 /dev/disk/by-id/nvme-SAMSUNG_MZQL2960HCJR-00A07_S64FNE0R500001',
      '0 openssh-server sudo curl ca-certificates systemd-timesyncd jq',
      '0 UTC',
    ]);
  });

  it('reports a mistake', async () => {
    const ran = await debian.run('debconf-set-selections --checkonly /wrong', { '/wrong': 'd-i only-two\n' });
    expect(ran.status).not.toBe(0);
  });

  it('ends with accounts, files and units in the installed system, and can run twice', async () => {
    const [, plan, extras] = INSTALLER_CASES.preseed[0];
    const late = renderPreseed(plan, extras, TEMPLATES).find(({ path }) => path === 'late.sh')?.text ?? '';
    const program = `
      sh /late.sh > /said 2>&1
      sh /late.sh >> /said 2>&1
      sudo -l -U operator > /sudo
      stat -c '%a %U:%G %n' /home/operator/.ssh /home/operator/.ssh/authorized_keys /etc/sudoers.d/90-coldiron \\
        /var/lib/coldiron/first-boot/* /etc/systemd/network/20-eth1.network /etc/systemd/network > /modes
      systemctl is-enabled coldiron-first-boot.service systemd-networkd.service > /enabled
      systemd-analyze verify coldiron-first-boot.service > /verified 2>&1
      visudo --check --quiet
      /var/lib/coldiron/run-first-boot > /first-boot 2>&1
      cat /etc/site-baseline /etc/node-agent > /made`;
    const ran = await debian.run(program, { '/late.sh': late });
    expect(ran.status, ran.output).toBe(0);
    expect(ran.read('/etc/passwd').match(/^operator:.*$/gm)).toEqual([
      expect.stringMatching(/:\/home\/operator:\/bin\/bash$/),
    ]);
    expect(ran.read('/etc/shadow')).toMatch(/^operator:!/m);
    expect(ran.read('/home/operator/.ssh/authorized_keys')).toBe(`${plan.accounts[0]?.sshKeys[0]}\n`);
    expect(ran.read('/sudo')).toMatch(/NOPASSWD: \/usr\/bin\/systemctl restart nginx.service, \/usr\/bin\/id ""/);
    expect(ran.read('/modes').trim().split('\n')).toEqual([
      '700 operator:operator /home/operator/.ssh',
      '600 operator:operator /home/operator/.ssh/authorized_keys',
      '440 root:root /etc/sudoers.d/90-coldiron',
      '700 root:root /var/lib/coldiron/first-boot/10-site-frankfurt-baseline-2025.11',
      '700 root:root /var/lib/coldiron/first-boot/20-node-node-agent-1.2.0',
      '644 root:root /etc/systemd/network/20-eth1.network',
      '755 root:root /etc/systemd/network',
    ]);
    expect(ran.read('/enabled')).toBe('enabled\nenabled\n');
    expect(ran.read('/verified')).toBe('');
    expect(ran.read('/made')).toBe("mirror: 'local'\nenrolled\n");
  });
});

describe('Ignition', () => {
  it('accepts its configurations', async () => {
    const configurations = all(INSTALLER_CASES.ignition, (plan, extras) => renderIgnition(plan, extras, TEMPLATES));
    const given = Object.fromEntries(
      configurations.map(([name, [file]]) => [`/ignition/${name}.ign`, experimental(file?.text ?? '')]),
    );
    const ran = await debian.run('for f in /ignition/*; do ignition-validate "$f"; done', given);
    expect(ran).toMatchObject({ status: 0, output: '' });
  });

  it('reports a mistake', async () => {
    const wrong = experimental(
      JSON.stringify({ ignition: { version: '3.4.0' }, storage: { files: [{ path: 'etc/x' }] } }),
    );
    const ran = await debian.run('ignition-validate /wrong.ign', { '/wrong.ign': wrong });
    expect(ran.output).toMatch(/path not absolute/);
    expect(ran.status).not.toBe(0);
  });

  it('creates units that systemd accepts', async () => {
    const [, plan, extras] = INSTALLER_CASES.ignition[1];
    const config = JSON.parse(renderIgnition(plan, extras, TEMPLATES)[0]?.text ?? '') as {
      systemd: { units: { name: string; contents: string }[] };
    };
    const units = config.systemd.units.map(({ name, contents }): [string, string] => [
      `/etc/systemd/system/${name}`,
      contents,
    ]);
    expect(units.map(([path]) => path.split('/').at(-1))).toEqual([
      'coldiron-roce.service',
      'coldiron-swapfile.service',
      'var-swapfile.swap',
    ]);
    const names = units.map(([path]) => path.split('/').at(-1)).join(' ');
    const ran = await debian.run(`systemd-analyze verify ${names} 2>&1`, Object.fromEntries(units));
    expect(ran).toMatchObject({ status: 0, output: '' });
  });
});

/** Debian 12's release knows the version before it became final; nothing that we use has changed since. */
const experimental = (text: string): string => text.replace('"3.4.0"', '"3.4.0-experimental"');

/** Reads every keyfile with NetworkManager's own library, and prints its content. */
const LIBNM = `import gi, glob, json
gi.require_version('NM', '1.0')
from gi.repository import GLib, NM
found = {}
for path in sorted(glob.glob('/etc/NetworkManager/system-connections/*')):
    keyfile = GLib.KeyFile.new()
    keyfile.load_from_file(path, GLib.KeyFileFlags.NONE)
    said = []
    connection = NM.keyfile_read(keyfile, '/etc/NetworkManager/system-connections', NM.KeyfileHandlerFlags.NONE,
        lambda keyfile, connection, kind, data, *rest: said.append(str(data)) or True, None)
    connection.normalize(None)
    connection.verify()
    four = connection.get_setting_ip4_config()
    own = connection.get_setting_connection()
    wired, bond, vlan = connection.get_setting_wired(), connection.get_setting_bond(), connection.get_setting_vlan()
    found[own.get_interface_name()] = {
        'mtu': wired.get_mtu() if wired else 0,
        'mac': wired.get_mac_address() if wired else None,
        'master': own.get_master(),
        'mode': bond.get_option_by_name('mode') if bond else None,
        'vlan': [vlan.get_id(), vlan.get_parent()] if vlan else None,
        'method': four.get_method() if four else None,
        'addresses': ['%s/%d' % (four.get_address(i).get_address(), four.get_address(i).get_prefix()) for i in range(four.get_num_addresses())] if four else [],
        'gateway': four.get_gateway() if four else None,
        'routes': ['%s/%d via %s' % (r.get_dest(), r.get_prefix(), r.get_next_hop()) for r in [four.get_route(i) for i in range(four.get_num_routes())]] if four else [],
        'dns': [four.get_dns(i) for i in range(four.get_num_dns())] if four else [],
        'search': [four.get_dns_search(i) for i in range(four.get_num_dns_searches())] if four else [],
        'never_default': four.get_never_default() if four else False,
        'said': said,
    }
print(json.dumps(found))
`;

const connections = (plan: NodePlan): Record<string, object> =>
  Object.fromEntries(
    settledLinks(plan).map((link) => {
      const isMember = link.kind === 'ethernet' && link.bond !== null;
      const gateway = link.routes.find(({ to }) => to === '0.0.0.0/0')?.via ?? null;
      const method = link.address === null ? 'disabled' : link.address === 'dhcp' ? 'auto' : 'manual';
      return [
        link.name,
        {
          mtu: link.mtu ?? 0,
          mac: link.kind === 'ethernet' ? (link.mac?.toUpperCase() ?? null) : null,
          master: isMember ? link.bond : null,
          mode: link.kind === 'bond' ? link.mode : null,
          vlan: link.kind === 'vlan' ? [link.id, link.parent] : null,
          method: isMember ? null : method,
          addresses: link.address === null || link.address === 'dhcp' ? [] : [link.address],
          gateway,
          routes: link.routes.filter(({ to }) => to !== '0.0.0.0/0').map(({ to, via }) => `${to} via ${via}`),
          dns: [...link.nameservers],
          search: [...link.searchDomains],
          never_default: link.withoutDefaultRoute,
          said: [],
        },
      ];
    }),
  );

describe('NetworkManager', () => {
  it.each([
    ['two cards', SAMPLE_PLANS.controlPlane],
    ['a bond, VLANs and a RoCE link', SAMPLE_PLANS.bonded],
    ['DHCP beside a fixed address', SAMPLE_PLANS.allInOne],
    ['a card without a known address', SAMPLE_PLANS.bare],
  ])('reads the links of a plan with %s', async (_what, plan) => {
    const given = Object.fromEntries(networkManagerFiles(plan).map(({ path, text }) => [path, text]));
    const ran = await debian.run('python3 /read.py', { ...given, '/read.py': LIBNM });
    expect(ran.status, ran.output).toBe(0);
    expect(JSON.parse(ran.output)).toEqual(connections(plan));
  });
});

describe('kernel parameters', () => {
  it("are added to GRUB's configuration for the next boot, beside existing ones", async () => {
    const script = TEMPLATES.render('installers/kernel-parameters.sh', { parameters: 'quiet console=ttyS0,115200n8' });
    const program = `
      printf '#!/bin/sh\\n' > /usr/sbin/update-grub
      chmod +x /usr/sbin/update-grub
      sh /script
      GRUB_CMDLINE_LINUX=before
      . /etc/default/grub.d/90-coldiron.cfg
      echo "$GRUB_CMDLINE_LINUX"`;
    const ran = await debian.run(program, { '/script': script });
    expect(ran).toMatchObject({ status: 0, output: 'before quiet console=ttyS0,115200n8\n' });
  });

  it('are reported as missing where nothing can set them', async () => {
    const script = TEMPLATES.render('installers/kernel-parameters.sh', { parameters: 'quiet' });
    const ran = await debian.run('sh /script', { '/script': script });
    expect(ran.status).toBe(1);
    expect(ran.output).toContain('neither update-grub nor grubby is here');
  });
});

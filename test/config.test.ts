import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../appliance/config.ts';
import { ColdironError } from '../appliance/domain/errors.ts';
import { prefixText } from '../appliance/domain/ipv4.ts';
import { checkInventory } from '../appliance/inventory/check.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coldiron-config-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function config(text: string): Promise<string> {
  await writeFile(join(folder, 'coldiron.yaml'), text);
  return join(folder, 'coldiron.yaml');
}

async function problems(text: string): Promise<string[]> {
  const error = await loadConfig(await config(text)).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ColdironError);
  expect((error as ColdironError).code).toBe('invalid_config');
  return (error as ColdironError).details.map((line) => line.replaceAll(`${folder}/`, ''));
}

describe('the example site of the README', () => {
  it('names files that exist, and keeps its state outside the source tree', async () => {
    const root = resolve(import.meta.dirname, '..');
    const { state, inventoryFiles } = await loadConfig(join(root, 'appliance/lab/rack/example-site.yaml'));
    expect(state).toBe(join(root, 'state'));
    expect(inventoryFiles).toEqual([join(root, 'inventory/example.yaml')]);
  });
});

describe('the configuration', () => {
  it('may be an empty mapping; the default is to listen on loopback only', async () => {
    const file = await config('{}');
    expect(await loadConfig(file)).toEqual({
      file,
      bmcScan: [],
      captureConsoles: true,
      bmcPasswordFolder: '/etc/coldiron/bmc-passwords',
      state: join(folder, 'state'),
      listen: {
        boot: { address: '127.0.0.1', port: 8080 },
        management: { address: '127.0.0.1', port: 8443 },
        tftp: 'networks',
        node: null,
      },
      terminals: {},
      tftp: {},
      enrollment: {},
      ignoreOtherDhcpServers: false,
      tls: null,
      maas: null,
      retentionDays: 30,
      retainedEvents: 5_000_000,
      receivers: [],
      logLevel: 'info',
      inventoryFiles: [],
      templates: null,
      tpmVendors: null,
      inline: null,
    });
  });

  it('reads every setting', async () => {
    await mkdir(join(folder, 'racks'));
    for (const name of ['tls.pem', 'tls.key', 'racks/b.yaml', 'racks/a.yaml', 'racks/notes.txt', 'own.yaml']) {
      await writeFile(join(folder, name), '{}');
    }
    const file = await config(`
      state: var/lib
      listen: { boot: 10.0.100.10:8080, management: 0.0.0.0:0, tftp: 10.0.100.10:69, node: 10.0.100.10:8444 }
      enrollment: { certificate_hours: 48, heartbeat_seconds: 10, agent_names: gpuaas }
      dhcp: { ignore_other_servers: true }
      tftp:
        transfer_ports: { from: 27000, to: 27010 }
        max_block_size: 8192
        max_window_size: 1
        rollover: 1
        per_client: 2
        at_once: 16
      tls: { certificate: tls.pem, key: tls.key }
      store: { engine: sqlite }
      inventory: [racks/*.yaml, own.yaml, racks/a.yaml, '*.yaml']
      retention: { event_days: 7, events: 2000 }
      log: { level: debug }
    `);
    expect(await loadConfig(file)).toMatchObject({
      state: join(folder, 'var/lib'),
      listen: {
        boot: { address: '10.0.100.10', port: 8080 },
        management: { address: '0.0.0.0', port: 0 },
        tftp: { address: '10.0.100.10', port: 69 },
        node: { address: '10.0.100.10', port: 8444 },
      },
      enrollment: { nodeLifetime: 172_800_000, heartbeatEvery: 10_000, agentNames: 'gpuaas' },
      ignoreOtherDhcpServers: true,
      tftp: {
        transferPorts: { from: 27000, to: 27010 },
        maxBlockSize: 8192,
        maxWindowSize: 1,
        rolloverTo: 1,
        perClient: 2,
        atOnce: 16,
      },
      tls: { certificateFile: join(folder, 'tls.pem'), keyFile: join(folder, 'tls.key') },
      inventoryFiles: ['racks/a.yaml', 'racks/b.yaml', 'own.yaml'].map((name) => join(folder, name)),
      retentionDays: 7,
      retainedEvents: 2000,
      receivers: [],
      logLevel: 'debug',
    });
  });

  it('can switch the boot servers off', async () => {
    const { listen } = await loadConfig(await config('listen: { boot: off, tftp: off }'));
    expect([listen.boot, listen.tftp]).toEqual([null, null]);
  });

  it('resolves the state folder of the command line from the current folder', async () => {
    const { state } = await loadConfig(await config('state: elsewhere'), { state: 'mine' });
    expect(state).toBe(resolve('mine'));
  });

  it('finds files next to a configuration with a relative path', async () => {
    await writeFile(join(folder, 'rack.yaml'), '{}');
    const file = relative(process.cwd(), await config('inventory: [rack.yaml]'));
    const { inventoryFiles, state } = await loadConfig(file);
    expect(inventoryFiles.map((name) => resolve(name))).toEqual([join(folder, 'rack.yaml')]);
    expect(state).toBe(join(folder, 'state'));
  });

  it('may contain inventory sections, as the source "site"', async () => {
    const file = await config('sites: [{ name: lab }]\nnetworks: [{ name: boot, prefix: 10.0.0.0/24 }]\n');
    const { inline } = await loadConfig(file);
    expect(inline).toMatchObject({ file, name: 'site', value: { sites: [{ name: 'lab' }] } });
    if (!inline) throw new Error('no inline inventory');
    expect(checkInventory([inline]).problems).toEqual([]);
  });

  it('lists every problem at once, with its place', async () => {
    expect(
      await problems(`
        stat: x
        listen: { boot: localhost:8080, management: 127.0.0.1:99999, nodes: 1 }
        tls: { certificate: none.pem }
        store: { engine: postgres }
        inventory: [none.yaml, 'racks/*.yaml']
        retention: { event_days: 0 }
        log: { level: verbose }
        sites: [{ nam: lab }]
      `),
    ).toEqual([
      'coldiron.yaml: stat: unknown key (did you mean state?)',
      'coldiron.yaml: listen.nodes: unknown key (did you mean node?)',
      'coldiron.yaml: tls.key: is missing',
      'coldiron.yaml: store.engine: must be one of sqlite: postgres',
      'coldiron.yaml: retention.event_days: must be 1 to 3650: 0',
      'coldiron.yaml: log.level: must be one of trace, debug, info, warn, error, fatal, silent: verbose',
      'coldiron.yaml: sites[0].nam: unknown key (did you mean name?)',
      'coldiron.yaml: sites[0].name: is missing',
      'coldiron.yaml: listen.boot: must be an IPv4 address and a port, like 127.0.0.1:8080: localhost:8080, or off',
      'coldiron.yaml: listen.management: must be an IPv4 address and a port, like 127.0.0.1:8080: 127.0.0.1:99999',
      'coldiron.yaml: tls.certificate: cannot be read: none.pem',
      'coldiron.yaml: inventory[0]: no file matches none.yaml',
      'coldiron.yaml: inventory[1]: no file matches racks/*.yaml',
    ]);
  });

  it("resolves the folder of the operator's templates, and reports a missing one", async () => {
    await mkdir(join(folder, 'own'));
    expect((await loadConfig(await config('templates: own'))).templates).toBe(join(folder, 'own'));
    expect(await problems('templates: nowhere')).toEqual(['coldiron.yaml: templates: no such folder: nowhere']);
  });

  it('can switch the capture of consoles off', async () => {
    expect((await loadConfig(await config('bmc: { console_capture: false }'))).captureConsoles).toBe(false);
    expect(await problems('bmc: { console_capture: sometimes }')).toHaveLength(1);
  });

  it('reads the networks of the BMC scan; the default is none', async () => {
    expect((await loadConfig(await config('{}'))).bmcScan).toEqual([]);
    const { bmcScan } = await loadConfig(await config('bmc: { scan: [10.0.10.0/24, 10.0.11.0/24] }'));
    expect(bmcScan.map(prefixText)).toEqual(['10.0.10.0/24', '10.0.11.0/24']);
    expect(await problems('bmc: { scan: [10.0.10.0/24, 10.0.10.1/24] }')).toEqual([
      'coldiron.yaml: bmc.scan[1]: has host bits set: 10.0.10.1/24; write 10.0.10.0/24',
    ]);
  });

  it('reads the folder of BMC passwords, relative to the site file', async () => {
    const file = await config('bmc: { password_folder: secrets/bmc }');
    expect((await loadConfig(file)).bmcPasswordFolder).toBe(join(folder, 'secrets/bmc'));
  });

  it.each(['state', 'state/passwords', '.', './other/../state'])(
    'rejects a folder of BMC passwords in or around the state folder: %s',
    async (path) => {
      expect(await problems(`bmc: { password_folder: ${path} }`)).toEqual([
        expect.stringMatching(/^coldiron\.yaml: bmc\.password_folder: must be a folder outside the state folder/),
      ]);
    },
  );

  it('contains only the TFTP settings that are given', async () => {
    const { tftp } = await loadConfig(await config('tftp: { single_port: true, rollover: 0 }'));
    expect(tftp).toEqual({ singlePort: true, rolloverTo: 0 });
  });

  it('rejects TFTP settings out of range, each with its place', async () => {
    expect(
      await problems(`
        tftp:
          single_prot: true
          transfer_ports: { from: 69, upto: 70 }
          max_block_size: 256
          max_window_size: 0
          rollover: 2
          per_client: 0
          at_once: many
      `),
    ).toEqual([
      'coldiron.yaml: tftp.single_prot: unknown key (did you mean single_port?)',
      'coldiron.yaml: tftp.transfer_ports.from: must be 1024 to 65535: 69',
      'coldiron.yaml: tftp.transfer_ports.upto: unknown key',
      'coldiron.yaml: tftp.transfer_ports.to: is missing',
      'coldiron.yaml: tftp.max_block_size: must be 512 to 65464: 256',
      'coldiron.yaml: tftp.max_window_size: must be 1 to 256: 0',
      'coldiron.yaml: tftp.rollover: must be 0 to 1: 2',
      'coldiron.yaml: tftp.per_client: must be 1 to 1024: 0',
      'coldiron.yaml: tftp.at_once: must be a whole number, is text: many',
    ]);
  });

  it('rejects contradictory TFTP settings', async () => {
    const ports = (from: number, to: number) => `transfer_ports: { from: ${from}, to: ${to} }`;
    expect(await problems(`tftp: { ${ports(3000, 2000)}, per_client: 8, at_once: 4 }`)).toEqual([
      'coldiron.yaml: tftp.transfer_ports: from 3000 is greater than to 2000',
      'coldiron.yaml: tftp.per_client: 8 is greater than at_once (4)',
    ]);
    expect(await problems(`tftp: { single_port: true, ${ports(2000, 3000)} }`)).toEqual([
      'coldiron.yaml: tftp.transfer_ports: has no effect with single_port: remove one of the two',
    ]);
    expect(await problems(`{ listen: { tftp: 10.0.100.10:2500 }, tftp: { ${ports(2000, 3000)} } }`)).toEqual([
      'coldiron.yaml: tftp.transfer_ports: contains port 2500 of listen.tftp',
    ]);
  });

  it('listens for TFTP on one address, never on all of them', async () => {
    expect(await problems('listen: { tftp: 0.0.0.0:69 }')).toEqual([
      'coldiron.yaml: listen.tftp: must be one address of this machine: with 0.0.0.0:69 a reply could have another ' +
        'source address than the request was sent to; write the address that machines use, like 10.0.100.10:69, or networks, or off',
    ]);
  });

  it('rejects a management address that would send tokens unencrypted', async () => {
    expect(await problems('listen: { management: 10.0.10.10:8443 }')).toEqual([
      'coldiron.yaml: listen.management: 10.0.10.10:8443 is reachable from other machines, and without TLS tokens ' +
        'would be sent unencrypted: set tls.certificate and tls.key, or listen on 127.0.0.1',
    ]);
    const file = await config('listen: { management: 127.9.9.9:1 }');
    expect((await loadConfig(file)).listen.management).toEqual({ address: '127.9.9.9', port: 1 });
  });

  it.each([
    ['does not exist', null, 'coldiron.yaml: no such file'],
    ['is empty', '', 'coldiron.yaml: is empty; write {} to declare nothing'],
    ['is a list', '- a', 'coldiron.yaml: must be a mapping of sections (nodes: …, networks: …)'],
    ['is not YAML', 'a: [', 'coldiron.yaml:1:5: not YAML: unexpected end of the stream within a flow collection'],
    ['has a key twice', 'state: a\nstate: b', 'coldiron.yaml:2:1: not YAML: duplicated mapping key'],
  ])('reports that the file %s', async (_what, text, problem) => {
    const found = text === null ? await absent() : await problems(text);
    expect(found).toEqual([problem]);
  });
});

const absent = async (): Promise<string[]> => {
  const error: unknown = await loadConfig(join(folder, 'coldiron.yaml')).catch((reason: unknown) => reason);
  return (error as ColdironError).details.map((line) => line.replaceAll(`${folder}/`, ''));
};

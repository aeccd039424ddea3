// The appliance's part of an installation over a real store, from the boot script to the installed node: orders, sessions,
// the lifecycle of the machine. The installer's SSH server is Debian's; nixos-anywhere is a script of the test.

import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { BUILT_IN_TEMPLATES, readNodeModules, readTemplateFiles } from '../../../appliance/assets/template-files.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { parseSessionSecret, type SessionSecret } from '../../../appliance/domain/session.ts';
import { applyInventory } from '../../../appliance/inventory/apply.ts';
import { checkInventory } from '../../../appliance/inventory/check.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import { FleetFollower } from '../../../appliance/inventory/fleet-follower.ts';
import type { MachineCommands } from '../../../appliance/machines/execute.ts';
import type { LifecycleEvent } from '../../../appliance/machines/transitions.ts';
import { PUSH_LIMITS } from '../../../appliance/provisioning/installers/nixos/push.ts';
import { openSessionService, type SessionService } from '../../../appliance/provisioning/sessions/session-service.ts';
import type { RenderedFile } from '../../../appliance/render/rendered-file.ts';
import { compileTemplates } from '../../../appliance/render/templates.ts';
import { openSqliteStore } from '../../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { put, temporaryFolder } from '../../assets/tiny-files.ts';
import { INTENT_ID, name } from '../../boot/boot-fixtures.ts';
import { freePort } from '../../free-port.ts';
import { commandsOf } from '../../machines/commands-of.ts';
import { fakeAnywhere } from '../installers/nixos/fake-anywhere.ts';
import { hostKey, startSshd } from '../installers/nixos/real-sshd.ts';
import { sessionProofs } from './session-proofs.ts';

const MAC = '52:54:00:12:34:56';
const HERE = mustParse(parseIpv4('127.0.0.1'));
const SECRET: RenderedFile = { path: 'etc/coldiron/token', text: 'one-time token', mode: 0o600, secret: true };

const RACK = {
  sites: [{ name: 'lab' }],
  networks: [{ name: 'here', prefix: '127.0.0.0/8', server: '127.0.0.1', dhcp: 'off' }],
  skus: [{ name: 'gp1', architecture: 'x86_64' }],
  profiles: [
    {
      name: 'worker',
      kind: 'nixos',
      role: 'worker',
      install: 'push',
      identity: 'asserted',
      enrollment: 'first-boot',
      storage: { disks: [{ by_id: 'ata-Disk_D-1' }] },
    },
  ],
  nodes: [
    {
      name: 'node01',
      sku: 'gp1',
      profile: 'worker',
      interfaces: [{ name: 'eth0', mac: MAC, network: 'here', address: '127.0.0.56' }],
    },
  ],
};

/** The installer, as the source of requests. */
export interface Installer {
  readonly order: { readonly way: string; readonly authorized_keys: readonly string[] };
  /** Reports a step, as an installer that is gone did. */
  reports(step: string): Promise<void>;
  /** Reports its facts, with these host keys, and waits. `to`: an appliance that was restarted. */
  waits(hostKeys?: readonly string[], address?: Ipv4 | null, to?: SessionService): Promise<void>;
}

export class PushRig {
  readonly folder: string;
  readonly given: string[] = [];
  readonly store: Store;
  readonly host: ReturnType<typeof hostKey>;
  readonly #port: number;
  readonly #fleet: Fleet;
  readonly #follower: FleetFollower;
  readonly commands: MachineCommands;

  private constructor(store: Store, port: number, folder: string) {
    this.folder = folder;
    this.store = store;
    this.#port = port;
    this.host = hostKey(folder, 'host');
    this.#fleet = new Fleet();
    this.#follower = new FleetFollower(store, this.#fleet);
    this.commands = commandsOf(store, Date.now, 60);
  }

  /** `script`: the commands of the fake nixos-anywhere. The machine is deploying. */
  static async open(script: string): Promise<PushRig> {
    const folder = temporaryFolder();
    const store = await openSqliteStore({ file: join(folder, 'coldiron.db') });
    onTestFinished(() => store.close());
    const rig = new PushRig(store, await freePort(), folder);
    fakeAnywhere(folder, script);
    chmodSync(put(folder, 'nix', '#!/bin/sh\necho "nix (Nix) 2.18.1"\n'), 0o755);
    const { problems, sources } = checkInventory([{ file: 'rack.yaml', name: 'rack', value: RACK }]);
    if (problems.length > 0) throw new Error(problems.join('\n'));
    const request = { sources, mode: 'reconcile', dryRun: false, actor: 'appliance', correlationId: null } as const;
    await applyInventory(store, request, { now: Date.now, newId: randomUUID });
    await rig.#follower.start();
    for (const event of ['commission', 'commissioned', 'deploy'] as const) await rig.request(event);
    return rig;
  }

  async request(event: LifecycleEvent): Promise<void> {
    await this.commands.request((await this.machine()).id, event, { actor: 'local:ada', correlationId: null });
  }

  async machine(): Promise<Machine> {
    const [known] = [...this.#fleet.machines()];
    const machine = known && (await this.store.machine(known.id));
    if (!machine) throw new Error('the machine is gone');
    return machine;
  }

  /** An appliance over this store; a second one represents a restart. */
  async appliance(changes: Partial<Parameters<typeof openSessionService>[0]> = {}): Promise<SessionService> {
    const service = await openSessionService({
      store: this.store,
      fleet: this.#fleet,
      commands: this.commands,
      find: () => null,
      templates: TEMPLATES,
      modules: readNodeModules,
      inspection: async () => null,
      serviceFiles: async () => [],
      installedFiles: async () => [SECRET],
      nodeParts: async () => [],
      nodeApiUrl: () => null,
      given: async (_machine, _plan, files) => void this.given.push(...files.map(({ path }) => path)),
      seenAt: () => ({ address: null, mac: null, neighbour: null, wouldBeKnown: false }),
      ...sessionProofs(Date.now),
      nodePort: () => null,
      now: Date.now,
      newId: randomUUID,
      log: QUIET,
      workFolders: join(this.folder, 'pushes'),
      environment: { PATH: `${this.folder}:${process.env.PATH}`, HOME: this.folder },
      limits: { ...PUSH_LIMITS, reach: 20_000, gracePeriod: 300 },
      sshPort: this.#port,
      ...changes,
    });
    onTestFinished(() => service.stop());
    return service;
  }

  /** A machine that runs the installer, with its session open. */
  async installer(service: SessionService): Promise<Installer> {
    const { sessions } = service;
    const draft = sessions.draft(
      await this.machine(),
      { kind: 'installer', profile: name('worker'), intent: INTENT_ID },
      SERVER,
      false,
    );
    if (!draft.ok) throw new Error(draft.reason);
    await sessions.put(draft.value.ticket);
    const call = { address: HERE, correlationId: 'call-1' };
    const opened = await sessions.handler.open(secretIn(draft.value.url), { mac: MAC }, call);
    const { session, order } = opened as unknown as { session: string; order: Installer['order'] };
    const key = mustParse(parseSessionSecret(session));
    return {
      order,
      reports: (step) => sessions.handler.step(key, { step, status: 'started' }, call),
      waits: async (hostKeys = [this.host.line], address = HERE, { sessions: { handler } } = service) => {
        await handler.facts(key, { disks: [], nics: [], ssh_host_keys: hostKeys }, { ...call, address });
        await handler.step(key, { sequence: 1, step: 'await-push', status: 'started' }, { ...call, address });
      },
    };
  }

  sshd(authorizedKeys: readonly string[]) {
    return startSshd({ folder: this.folder, port: this.#port, hostKeys: [this.host.file], authorizedKeys });
  }

  async steps(): Promise<string[]> {
    const events = await this.store.events({ limit: 1000 });
    return events
      .filter(({ kind }) => kind === 'session.step')
      .map(({ data }) => data as { step: string; status: string })
      .map(({ step, status }) => `${step} ${status}`);
  }

  /** The files that a push left on the disk of the appliance. */
  leftovers(): string[] {
    const place = join(this.folder, 'pushes');
    return existsSync(place) ? readdirSync(place) : [];
  }
}

const TEMPLATES = compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES));
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const SERVER = { address: HERE, bootPort: 8080 };

const secretIn = (url: string): SessionSecret => mustParse(parseSessionSecret(url.split('/').at(-1) ?? ''));

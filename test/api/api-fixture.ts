// A management API over a real store in its own folder, with one token per role.

import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { pino } from 'pino';
import { AccessKeys } from '../../appliance/allocations/access-keys.ts';
import { Allocations } from '../../appliance/allocations/allocations.ts';
import type { KeyProbe } from '../../appliance/allocations/key-probe.ts';
import { SudoPolicies } from '../../appliance/allocations/sudo-policies.ts';
import { createApiToken } from '../../appliance/api/api-token.ts';
import { buildManagementApi } from '../../appliance/api/app.ts';
import { bearerAuthenticator } from '../../appliance/api/auth.ts';
import type { App } from '../../appliance/api/base-app.ts';
import type { ManagementDeps, ProbeResult } from '../../appliance/api/deps.ts';
import { LiveFeed } from '../../appliance/api/live/live-feed.ts';
import { openProposals } from '../../appliance/api/open-proposals.ts';
import { RequestLedger } from '../../appliance/api/request-ledger.ts';
import { OneTimeCodes } from '../../appliance/api/sign-in/one-time-codes.ts';
import { SignIn } from '../../appliance/api/sign-in/sign-in.ts';
import { pageOrToken, WebSessions } from '../../appliance/api/sign-in/web-sessions.ts';
import { readNodeModules } from '../../appliance/assets/template-files.ts';
import type { OpenDriver } from '../../appliance/bmc/access/bmc-opener.ts';
import { openBmcService } from '../../appliance/bmc/access/bmc-service.ts';
import { bmcSystemClock } from '../../appliance/bmc/clock.ts';
import { ConsoleFiles } from '../../appliance/bmc/console/console-files.ts';
import { BootResolver } from '../../appliance/boot/boot-resolver.ts';
import { Renderings } from '../../appliance/deliveries/renderings.ts';
import { parsed, unparsable } from '../../appliance/domain/parsed.ts';
import { ROLES, type Role } from '../../appliance/domain/token.ts';
import { Exports } from '../../appliance/export/exports.ts';
import { type EnrollmentService, openEnrollmentService } from '../../appliance/identity/enrollment-service.ts';
import { DEFAULT_ENROLLMENT_SETTINGS } from '../../appliance/identity/settings.ts';
import { createVault } from '../../appliance/identity/vault/vault.ts';
import { loadVaultKeys } from '../../appliance/identity/vault/vault-keys.ts';
import { applyInventory } from '../../appliance/inventory/apply.ts';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { Fleet } from '../../appliance/inventory/fleet.ts';
import { FleetFollower } from '../../appliance/inventory/fleet-follower.ts';
import type { MachineCommands } from '../../appliance/machines/execute.ts';
import { systemClock } from '../../appliance/machines/runner/clock.ts';
import { OnboardingRunner } from '../../appliance/onboarding/onboarding-runner.ts';
import { Onboardings, policyFor } from '../../appliance/onboarding/onboardings.ts';
import { NativeProvider } from '../../appliance/providers/native/native-provider.ts';
import { cablingOf } from '../../appliance/provisioning/cabling.ts';
import { NodeWork } from '../../appliance/provisioning/node-work.ts';
import { WorkOrders } from '../../appliance/provisioning/orders/work-orders.ts';
import { skuProblemsOf } from '../../appliance/provisioning/sku-hardware.ts';
import { readTemplates } from '../../appliance/servers/http-boot/read-templates.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { DEFAULT_TERMINAL_SETTINGS } from '../../appliance/terminals/settings.ts';
import { Terminals } from '../../appliance/terminals/terminals.ts';
import { checkStoredEvents } from '../domain/events/checked-event.ts';
import { commandsOf } from '../machines/commands-of.ts';
import { NoteBoard } from '../trail/note-board.ts';

export const RACK = {
  sites: [
    {
      ...{ name: 'lab', region: 'region-1', bmc_mode: 'recorder' },
      onboarding: { bmc_networks: ['10.0.200.0/24'] },
    },
  ],
  networks: [
    {
      name: 'provisioning',
      prefix: '10.0.100.0/24',
      server: '10.0.100.10',
      pools: [{ from: '10.0.100.100', to: '10.0.100.200' }],
    },
    { name: 'storage', prefix: '10.0.150.0/24' },
  ],
  skus: [
    { name: 'gp1', architecture: 'x86_64' },
    { name: 'h100', architecture: 'x86_64', gpus: 8, regions: ['region-1', 'region-2'] },
    { name: 'v100', architecture: 'x86_64', gpus: 8, active: false },
  ],
  profiles: [{ name: 'worker', kind: 'nixos', role: 'worker', enrollment: 'first-boot' }],
  nodes: [1, 2, 3].map((n) => ({
    name: `node0${n}`,
    sku: 'gp1',
    profile: 'worker',
    serial: `SN-00${n}`,
    uuid: `00000000-0000-4000-8000-00000000000${n}`,
    ...(n > 1 && { labels: { rack: 'r1', ...(n === 3 && { tier: 'gold' }) } }),
    interfaces: [
      {
        ...{ name: 'eth1', mac: `52:54:00:22:34:5${n}`, network: 'storage' },
        switch: { name: 'sw3', port: `Ethernet1/${n}` },
      },
      { name: 'eth0', mac: `52:54:00:12:34:5${n}`, network: 'provisioning', address: `10.0.100.5${n}` },
    ],
  })),
};

const DISK = {
  path: '/dev/sda',
  byId: ['ata-Disk_D-1'],
  serial: 'D-1',
  model: 'Disk',
  bytes: 1e12,
  rotational: false,
};

export const START = Date.UTC(2026, 0, 15, 8);

export interface Fixture {
  readonly app: App;
  readonly store: Store;
  readonly fleet: Fleet;
  readonly live: LiveFeed;
  readonly stateDir: string;
  readonly tokens: Readonly<Record<Role, string>>;
  readonly clock: { time: number; now(): number };
  /** Every line that the API logged, parsed and as text. */
  readonly log: { lines: Record<string, unknown>[]; text: string };
  readonly probed: { host: string; port: number }[];
  /** Drives onboarding runs; its timers never fire, so a test wakes it. */
  readonly runner: OnboardingRunner;
  readonly native: NativeProvider;
  readonly work: NodeWork;
  readonly commands: MachineCommands;
  readonly enrollment: EnrollmentService;
  call(request: InjectOptions & { role?: Role }): Promise<LightMyRequestResponse>;
  close(): Promise<void>;
}

export interface FixtureOptions {
  readonly probe?: ProbeResult;
  readonly keyProbe?: KeyProbe;
  readonly openDriver?: OpenDriver;
  /** Whether the library has a service OS. */
  readonly serviceOs?: boolean;
  readonly deps?: (real: ManagementDeps) => Partial<ManagementDeps>;
  /** Every image and file is in the library, and each node has one disk, so that a deployment is possible. */
  readonly deployable?: boolean;
  /** `bmc.password_folder` of the site file. */
  readonly passwordFolder?: string;
}

export async function openApi({
  probe,
  keyProbe = async () => ({ accepted: true, hostKey: 'SHA256:host' }),
  openDriver,
  serviceOs = true,
  deps = () => ({}),
  deployable = false,
  passwordFolder,
}: FixtureOptions = {}): Promise<Fixture> {
  const stateDir = await mkdtemp(join(tmpdir(), 'coldiron-api-'));
  const clock = { time: START, now: () => clock.time };
  const store = await openSqliteStore({ file: join(stateDir, 'coldiron.db') });
  const fleet = new Fleet();
  const follower = new FleetFollower(store, fleet);
  const log: Fixture['log'] = { lines: [], text: '' };
  const probed: Fixture['probed'] = [];
  const logger = pino(
    {},
    {
      write: (line: string) => {
        log.text += line;
        log.lines.push(JSON.parse(line));
      },
    },
  );

  const { problems, sources } = checkInventory([{ file: 'rack.yaml', name: 'rack', value: RACK }]);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const edge = { now: () => clock.now(), newId: randomUUID };
  const request = { sources, mode: 'reconcile', dryRun: false, actor: 'appliance', correlationId: null } as const;
  await applyInventory(store, request, edge);
  await follower.start();

  const tokens = Object.fromEntries(
    await Promise.all(
      ROLES.map(async (role) => {
        const request = { name: `test-${role}`, role, expiresAt: null, actor: 'local:test', correlationId: null };
        return [role, (await createApiToken(store, request, clock)).text];
      }),
    ),
  ) as Record<Role, string>;

  const bmc = await openBmcService({
    store,
    vault: createVault(await loadVaultKeys(stateDir, undefined)),
    passwords: { folder: passwordFolder ?? join(stateDir, 'no-passwords'), state: stateDir },
    trail: new NoteBoard(),
    clock: bmcSystemClock,
    bmcMode: ({ spec: { site } }) => (site && fleet.site(site)?.bmcMode) ?? null,
    current: (id) => fleet.machineById(id),
    onChange: (id, listener) => fleet.watch(id, listener),
    machines: () => fleet.machines(),
    consoleFiles: new ConsoleFiles(stateDir, bmcSystemClock, logger),
    captureConsoles: false,
    scanned: [],
    nodeAtBmc: (address) => fleet.machineByBmc(address)?.spec.hostname ?? null,
    log: logger,
    ...(openDriver && { openDriver }),
  });
  const commands = commandsOf(store, clock.now, null);
  const templates = readTemplates();
  const orders = new WorkOrders({
    fleet,
    find: () => null,
    templates,
    nodeParts: async () => [],
    nodeApiUrl: () => null,
    nixosFile: async () => null,
    random: randomBytes,
    pushKey: () => 'ssh-ed25519 AAAA',
    given: async () => undefined,
  });
  const work = new NodeWork({
    fleet,
    commands,
    orders,
    now: clock.now,
    find: () => null,
    images: {
      find: (image) =>
        deployable || (serviceOs && image.kernel.includes('service-os'))
          ? parsed({ ...image, parameters: [] })
          : unparsable(image.kernel),
    },
    bootContract: async () => ({ problems: [], missing: [] }),
    bootPort: () => 8080,
    fetchable: async () => ({ ok: true, value: { bytes: null } }),
    bundleProblems: async () => [],
    bmcProblems: async () => [],
    inspection: async () => (deployable ? { firmware: 'efi', disks: [DISK] } : null),
    cabling: (machine) => cablingOf({ fleet, store }, machine),
    skuProblems: (machine) => skuProblemsOf({ fleet, store }, machine),
    hasNodeApi: () => true,
    driveProblem: () => null,
    pushProblems: async () => [],
    loaderAvailable: () => true,
    applianceProblems: () => [],
    readFiles: async () => undefined,
  });
  const enrollment = await openEnrollmentService({
    store,
    fleet,
    now: clock.now,
    setTimer: () => ({ cancel: () => {} }),
    newId: randomUUID,
    state: stateDir,
    credentialsFolder: undefined,
    settings: DEFAULT_ENROLLMENT_SETTINGS,
    templates,
    agentText: '#!/bin/sh\n',
    commands,
    power: bmc.power,
    logger,
  });
  const terminals = new Terminals({
    ...{ store, tasks: enrollment.tasks, newId: randomUUID, logger, settings: DEFAULT_TERMINAL_SETTINGS },
    clock: { now: clock.now, setTimer: () => ({ cancel: () => undefined }) },
  });
  const sudoPolicies = new SudoPolicies({ store, now: clock.now });
  const accessKeys = new AccessKeys({
    ...{ store, now: clock.now, probe: keyProbe },
    siteExists: (site) => fleet.site(site) !== null,
  });
  const native = new NativeProvider({
    ...{ store, fleet, work, commands, now: clock.now, newId: randomUUID, bmc: bmc.nodes },
    applianceProblems: () => [],
    bootContract: async () => ({ problems: [], missing: [] }),
    causes: async () => [],
    lastHeartbeat: () => null,
  });
  const runner = new OnboardingRunner({
    ...{ store, log: logger },
    clock: { now: clock.now, setTimer: () => ({ cancel: () => undefined }) },
    providers: new Map([[native.name, native]]),
    policy: (run) => policyFor(fleet, run),
  });
  await runner.start();
  const webSessions = new WebSessions(store, clock);
  const signInCodes = new OneTimeCodes(clock);
  const live = new LiveFeed({
    ...{ store, fleet, now: clock.now, setTimer: systemClock.setTimer, log: logger },
    breathe: () => setImmediate(),
  });
  const real: Omit<ManagementDeps, 'proposals'> = {
    bmc,
    work,
    terminals,
    onboardings: new Onboardings({
      ...{ store, fleet, runner, now: clock.now, newId: randomUUID },
      providerOf: () => native.name,
    }),
    enrollment,
    renderings: new Renderings({
      fleet,
      store,
      templates: { ...templates, overridden: 0, reload: async () => [] },
      modules: readNodeModules(),
      serviceFiles: async ({ spec: { hostname } }) => [
        { path: `secrets/${hostname}-key.pem`, text: 'a private key', mode: 0o600, secret: true },
      ],
      ports: { boot: 8080, management: 8443, node: 8444 },
      now: clock.now,
    }),
    store,
    fleet,
    requests: new RequestLedger({ store, clock, holder: 'this-process' }),
    resolver: new BootResolver(fleet, clock.now),
    bootContract: async () => ({ problems: [], missing: [] }),
    commands,
    maas: null,
    authenticate: pageOrToken(bearerAuthenticator(store, clock), webSessions),
    ...{ webSessions, signInCodes, signIn: new SignIn({ store, clock, sessions: webSessions, codes: signInCodes }) },
    pageUrl: () => 'https://appliance.example:8443',
    clock,
    newId: randomUUID,
    services: () => ({ dhcp: 'running', tftp: 'running', http: 'running' }),
    listeners: () => [],
    applianceProblems: () => [],
    contactAt: () => null,
    runTimes: { expected: async () => ({}) },
    probe: async (host, port) => {
      probed.push({ host, port });
      return probe ?? { reached: true, banner: 'SSH-2.0-OpenSSH_9.6', milliseconds: 4 };
    },
    exports: new Exports([], store, clock.now, 'coldiron exports list'),
    accessKeys,
    sudoPolicies,
    allocations: new Allocations({
      ...{ store, commands, now: clock.now, newId: randomUUID, tasks: enrollment.tasks },
      keys: accessKeys,
      policies: sudoPolicies,
      machines: () => fleet.machines(),
    }),
    bootPort: 8080,
    live,
    metrics: async (openMetrics) => (openMetrics ? '# EOF\n' : ''),
    logger,
  };
  const whole = { ...real, proposals: openProposals(real) };
  const app = await buildManagementApi({ ...whole, ...deps(whole) });
  return {
    app,
    store,
    fleet,
    live,
    stateDir,
    tokens,
    clock,
    log,
    probed,
    runner,
    native,
    ...{ work, commands, enrollment },
    call: ({ role, headers, ...rest }) =>
      app.inject({
        ...rest,
        headers: { ...headers, ...(role && { authorization: `Bearer ${tokens[role]}` }) },
      }),
    close: async () => {
      await live.stop();
      await runner.stop();
      await runner.idle();
      await app.close();
      await checkStoredEvents(store);
      await store.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

// The composition root: config → store → fleet → lifecycle → listeners. It reads top-down, stops in reverse, and nothing else
// wires parts together.

import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ensureAdminToken } from './api/admin-token.ts';
import { buildManagementApi } from './api/app.ts';
import { bearerAuthenticator, localAuthenticator } from './api/auth.ts';
import { buildBootApp } from './api/boot-app.ts';
import type { Services } from './api/deps.ts';
import { RequestLedger } from './api/request-ledger.ts';
import { sshProbe } from './api/ssh-probe.ts';
import type { BootContract } from './assets/boot-contract.ts';
import { AssetLibrary } from './assets/library.ts';
import { readNodeModules } from './assets/template-files.ts';
import { openBmcService } from './bmc/access/bmc-service.ts';
import { bmcSystemClock } from './bmc/clock.ts';
import { BootResolver } from './boot/boot-resolver.ts';
import type { Config } from './config.ts';
import { Renderings } from './deliveries/renderings.ts';
import { openTemplateSet } from './deliveries/template-set.ts';
import type { Origin } from './domain/event.ts';
import { DAY, HOUR, MINUTE } from './domain/instant.ts';
import type { Mac } from './domain/mac.ts';
import type { Machine } from './domain/machine.ts';
import { identityIn } from './identity/node-place.ts';
import { DEFAULT_ENROLLMENT_SETTINGS } from './identity/settings.ts';
import { createVault } from './identity/vault/vault.ts';
import { loadVaultKeys } from './identity/vault/vault-keys.ts';
import { Discovery } from './inventory/discovery.ts';
import { Fleet } from './inventory/fleet.ts';
import { FleetFollower } from './inventory/fleet-follower.ts';
import { applySiteInventory } from './inventory/site-inventory.ts';
import { effectHandlers } from './machines/effects.ts';
import { quarantineOn } from './machines/quarantine.ts';
import { systemClock } from './machines/runner/clock.ts';
import { LifecycleRunner } from './machines/runner.ts';
import { AddressBook } from './net/address-book.ts';
import { InterfaceWatch } from './net/interface-watch.ts';
import { claimSocket, listenOnSocket, listenOnTcp } from './net/listen.ts';
import { repeat } from './net/repeat.ts';
import { interfaceIndexes } from './net/udp/bound-descriptor.ts';
import { openDeviceSocket } from './net/udp/device-socket.ts';
import { openEchoSocket } from './net/udp/echo-socket.ts';
import { RouterHints } from './net/udp/router-hint.ts';
import { indexInventory } from './render/plan-index.ts';
import type { RenderedFile } from './render/rendered-file.ts';
import { BootChain } from './servers/boot-chain/boot-chain.ts';
import { OwnRequests } from './servers/boot-chain/own-requests.ts';
import { DEFAULT_LEASE_TIMES } from './servers/dhcp/dhcp-deps.ts';
import { DhcpServer } from './servers/dhcp/dhcp-server.ts';
import { AvailableImages } from './servers/http-boot/available-images.ts';
import { fetchable } from './servers/http-boot/fetchable.ts';
import { HttpBootServer } from './servers/http-boot/http-boot-server.ts';
import { readBootTemplates, readTemplates } from './servers/http-boot/read-templates.ts';
import { ScriptIssuer } from './servers/http-boot/script-issuer.ts';
import { Listening } from './servers/listening.ts';
import { openNodeService } from './servers/node-api/node-service.ts';
import { seenAt } from './servers/seen-at.ts';
import { BootTexts } from './servers/tftp/boot-texts.ts';
import { TftpListeners } from './servers/tftp/tftp-listeners.ts';
import { TftpResolver } from './servers/tftp/tftp-resolver.ts';
import { openSqliteStore } from './store/sqlite/sqlite.ts';
import { TrailRecorder } from './trail/trail-recorder.ts';
import { PUSH_LIMITS } from './work/installers/nixos/push.ts';
import { NodeWork } from './work/node-work.ts';
import { intentConsumer } from './work/sessions/intent-consumer.ts';
import { openSessionService } from './work/sessions/session-service.ts';
import { heardOf } from './work/sessions/session-watch.ts';

export interface Appliance {
  /** What listens where, for whoever started it. */
  readonly places: readonly { readonly what: string; readonly where: string }[];
  readonly adminTokenFile: string;
  stop(): Promise<void>;
}

/** Writes of other processes are seen within this time; our own at once. */
const FOLLOW_EVERY = 250;
const WRITE_TRAIL_EVERY = 200;
const LOOK_AT_ASSETS_EVERY = MINUTE;
const DEFAULT_BOOT_PORT = 8080;
const DEFAULT_MANAGEMENT_PORT = 8443;

export async function startAppliance(config: Config, logger: Logger): Promise<Appliance> {
  const stops: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (let undo = stops.pop(); undo; undo = stops.pop()) await undo();
  };
  const clock = systemClock;
  const newId = (): string => randomUUID();

  try {
    const socket = await claimSocket(join(config.state, 'coldiron.sock'));
    const store = await openSqliteStore({ file: join(config.state, 'coldiron.db'), logger });
    stops.push(() => store.close());
    const adminToken = await ensureAdminToken(store, config.state, clock);

    const fleet = new Fleet();
    const follower = new FleetFollower(store, fleet);
    const refreshFleet = (): Promise<void> => follower.refresh();
    await refreshFleet();
    await applySiteInventory(store, fleet.inventory(), config, { now: clock.now, newId, logger });
    await refreshFleet();
    stops.push(repeat(FOLLOW_EVERY, refreshFleet, logger));

    const trailRecorder = new TrailRecorder(store, clock.now);
    stops.push(() => trailRecorder.close());
    stops.push(repeat(WRITE_TRAIL_EVERY, () => trailRecorder.flush(), logger));
    const bmcs = await openBmcService({
      store,
      vault: createVault(await loadVaultKeys(config.state, process.env.CREDENTIALS_DIRECTORY)),
      trail: trailRecorder,
      clock: bmcSystemClock,
      bmcMode: ({ spec: { site } }) => (site && fleet.site(site)?.bmcMode) ?? null,
      current: (id) => fleet.machineById(id),
      scanned: config.bmcScan,
      nodeAtBmc: (address) => fleet.machineByBmc(address)?.spec.hostname ?? null,
      log: logger,
    });
    const { trail } = bmcs;

    const runner = new LifecycleRunner({
      store,
      lastHeard: heardOf(store, clock.now),
      clock,
      newId,
      log: logger,
      deployMinutes: ({ intent, spec }) => {
        const profile = intent?.profile ?? spec.profile;
        return (profile && fleet.profile(profile)?.deployMinutes) ?? null;
      },
      effects: effectHandlers({
        store,
        now: clock.now,
        bmcs: bmcs.effects,
        // Data that nobody erased never passes to the next user unless a site's policy says so, and none can say so yet.
        mayReleaseUnerased: () => false,
      }),
    });
    await runner.start();
    stops.push(() => runner.stop());
    stops.push(() => bmcs.stop());
    stops.push(repeat(HOUR, () => store.trimEvents(clock.now() - config.retentionDays * DAY), logger));

    const nodeService = await openNodeService({
      store,
      fleet,
      refreshFleet,
      runner,
      now: clock.now,
      setTimer: clock.setTimer,
      newId,
      logger,
      state: config.state,
      credentialsFolder: process.env.CREDENTIALS_DIRECTORY,
      settings: { ...DEFAULT_ENROLLMENT_SETTINGS, ...config.enrollment },
      templates: readTemplates(),
      listen: config.listen.node,
    });
    stops.push(() => nodeService.stop());
    const { enrollment } = nodeService;

    const library = await AssetLibrary.open(join(config.state, 'assets'));
    const hasLoader = (file: string): boolean => library.find(file) !== null;
    const desk = new BootResolver(fleet, clock.now, hasLoader);
    const bootPort = config.listen.boot?.port || DEFAULT_BOOT_PORT;
    const onFinding = quarantineOn(runner, refreshFleet, logger);
    const discovery = new Discovery({ store, fleet, refreshFleet, now: clock.now, newId, log: logger });
    const interfaceIndex = interfaceIndexes();
    const routerHints = new RouterHints(logger);
    stops.push(() => routerHints.stop());
    const dhcp = new DhcpServer({
      clock,
      logger,
      fleet,
      desk,
      store,
      trail,
      settings: {
        bootPort,
        leaseTimes: DEFAULT_LEASE_TIMES,
        conflictProbe: true,
        ignoreOtherServers: config.ignoreOtherDhcpServers,
      },
      openUdp: openDeviceSocket,
      openEcho: openEchoSocket,
      neighbours: () => readFile('/proc/net/arp', 'utf8'),
      interfaceIndex,
      randomBytes,
      onFinding,
      onIpxe: (device) => routerHints.send(device),
      onUnknown: (facts, network) => void discovery.seen(facts, network),
    });
    const addresses = new AddressBook(fleet, (address) => dhcp.macAt(address));

    const templates = readBootTemplates();
    const siteTemplates = await openTemplateSet({
      folder: config.templates,
      state: config.state,
      index: () => indexInventory(fleet.inventory()),
      log: logger,
    });
    stops.push(repeat(LOOK_AT_ASSETS_EVERY, () => siteTemplates.look(), logger));
    const serviceFiles = (machine: Machine, by: Origin): Promise<readonly RenderedFile[]> =>
      enrollment.authority.serviceFiles(identityIn(fleet, machine), by);
    const renderings = new Renderings({
      fleet,
      store,
      templates: siteTemplates,
      modules: readNodeModules(),
      serviceFiles,
      ports: { boot: bootPort, management: config.listen.management.port || DEFAULT_MANAGEMENT_PORT },
      now: clock.now,
    });
    const workSessions = await openSessionService({
      store,
      fleet,
      refreshFleet,
      runner,
      find: (name) => library.find(name),
      templates: siteTemplates,
      modules: readNodeModules,
      inspection: (machine) => renderings.inspection(machine),
      serviceFiles,
      installedFiles: (machine) => enrollment.installedFiles(machine),
      nodeParts: (machine) => enrollment.firstBootParts(machine),
      given: (machine, plan, files) =>
        renderings.delivered(machine, plan, files, 'order', {
          actor: `machine:${machine.spec.hostname}`,
          correlationId: null,
        }),
      seenAt: (address) => seenAt(address, addresses, fleet),
      now: clock.now,
      newId,
      log: logger,
      workFolders: join(config.state, 'pushes'),
      environment: process.env,
      limits: PUSH_LIMITS,
    });
    stops.push(() => workSessions.stop());
    const { orders, sessions } = workSessions;
    const scripts = {
      sessions,
      desk,
      templates,
      library,
      consume: intentConsumer(store, refreshFleet, clock.now),
      onFinding,
      onScriptFetched: (mac: Mac) => dhcp.scriptFetched(mac),
    };
    const tftp = new TftpListeners({
      fleet,
      listen: config.listen.tftp,
      settings: config.tftp,
      trail,
      whoIs: (address) => addresses.whoIs(address),
      log: logger,
      desk: new TftpResolver({
        desk,
        library,
        macOf: (address) => addresses.macOf(address),
        isSelf: (address) => bootChain.isSelf(address),
        now: clock.now,
        scriptFor: new BootTexts({
          desk,
          templates,
          scripts: new ScriptIssuer({
            ...scripts,
            images: new AvailableImages(library),
            onStoreFailure: (error, machine) =>
              logger.error(
                { err: error, node: machine.spec.hostname },
                'an intent could not be used up; the machine waits',
              ),
          }),
          bootPort,
        }).textFor,
      }),
    });

    let bootAt: { readonly address: string; readonly port: number } | null = null;
    const own = new OwnRequests(randomBytes(16).toString('hex'));
    const bootChain = new BootChain({
      library,
      fleet,
      listening: () => ({ http: bootAt, tftp: tftp.places() }),
      own,
      log: logger,
    });
    const bootContract = (): Promise<BootContract> => bootChain.check();
    const services = (): Services => ({
      dhcp: dhcp.health(),
      tftp: tftp.health(),
      http: bootAt === null ? 'off' : 'running',
    });
    const interfaces = new InterfaceWatch(fleet, interfaceIndex);
    const listening = new Listening({ dhcp, tftp, bootChain, interfaces, log: logger });
    const work = new NodeWork({
      store,
      fleet,
      refreshFleet,
      runner,
      orders,
      newId,
      now: clock.now,
      find: (name) => library.find(name),
      images: new AvailableImages(library),
      bootContract,
      bootPort: () => bootAt?.port ?? bootPort,
      fetchable: (url) => fetchable(url, bootChain.headersFor(url)),
      bundleProblems: (machine) => enrollment.bundleProblems(machine),
      bmcProblems: bmcs.problems,
      inspection: (machine) => renderings.inspection(machine),
      pushProblems: workSessions.pushProblems,
    });
    const shared = {
      enrollment,
      work,
      renderings,
      store,
      fleet,
      refreshFleet,
      requests: new RequestLedger({ store, clock, holder: newId() }),
      runner,
      clock,
      newId,
      services,
      listeners: listening.states,
      probe: sshProbe(clock.now),
      bootPort,
      hasLoader,
      bootContract,
      bmc: bmcs,
      logger,
    };
    const tls = config.tls && { cert: readFileSync(config.tls.certificateFile), key: readFileSync(config.tls.keyFile) };
    const local = await buildManagementApi({ ...shared, authenticate: localAuthenticator(userInfo().username) });
    stops.push(await listenOnSocket(local, socket));
    const management = await buildManagementApi({ ...shared, authenticate: bearerAuthenticator(store, clock), tls });
    const managementAt = await listenOnTcp(management, config.listen.management);
    stops.push(managementAt.stop);
    const places = [
      { what: 'management', where: `${tls ? 'https' : 'http'}://${managementAt.address}/api/v1` },
      { what: 'socket', where: socket },
    ];

    if (nodeService.address !== null) places.push({ what: 'node', where: `https://${nodeService.address}/node/v1` });
    if (config.listen.boot) {
      const bootApp = await buildBootApp({ newId, logger, services });
      stops.push(() => bootApp.close());
      const boot = new HttpBootServer(
        {
          ...scripts,
          profiles: () => fleet.profiles(),
          whoIs: (address) => addresses.whoIs(address),
          trail,
          isOwn: own.isOwn,
          logger,
          newId,
          elsewhere: (request, response) => bootApp.routing(request, response),
        },
        config.listen.boot,
      );
      bootAt = await boot.start();
      stops.push(() => boot.stop());
      places.unshift({ what: 'boot', where: `http://${bootAt.address}:${bootAt.port}/` });
    }
    // Last, so that nothing is advertised before it is served.
    stops.push(() => tftp.stop());
    await tftp.reconcile();
    stops.push(() => dhcp.stop());
    await dhcp.start();
    places.push(...listening.places());
    follower.onCatalogueChange = listening.onChange;
    stops.push(() => bootChain.stop());
    stops.push(listening.follow());
    await bootChain.followUp();
    const lookAtAssets = async (): Promise<void> => {
      await library.reload();
      await bootChain.followUp();
    };
    stops.push(repeat(LOOK_AT_ASSETS_EVERY, lookAtAssets, logger));
    return { places, adminTokenFile: adminToken.file, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

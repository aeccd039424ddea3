// The boot servers: HTTP, TFTP and DHCP, and the check that every advertised file is served.

import { randomBytes } from 'node:crypto';
import { buildBootApp } from '../api/boot-app.ts';
import type { Services } from '../api/deps.ts';
import type { BootContract } from '../assets/boot-contract.ts';
import { LibraryWatch } from '../assets/library-watch.ts';
import { MINUTE } from '../domain/instant.ts';
import type { TwinWatch } from '../identity/twin-watch.ts';
import { InterfaceWatch } from '../net/interface-watch.ts';
import { repeat } from '../net/repeat.ts';
import type { SessionMedia } from '../provisioning/media/session-media.ts';
import { intentConsumer } from '../provisioning/sessions/intent-consumer.ts';
import { neighbourProblem } from '../provisioning/sessions/openers.ts';
import type { SessionService } from '../provisioning/sessions/session-service.ts';
import { BootChain } from '../servers/boot-chain/boot-chain.ts';
import { OwnRequests } from '../servers/boot-chain/own-requests.ts';
import { HttpBootServer } from '../servers/http-boot/http-boot-server.ts';
import { readBootTemplates } from '../servers/http-boot/read-templates.ts';
import { ScriptIssuer } from '../servers/http-boot/script-issuer.ts';
import { Listening } from '../servers/listening.ts';
import { BootTexts } from '../servers/tftp/boot-texts.ts';
import { TftpListeners } from '../servers/tftp/tftp-listeners.ts';
import { TftpResolver } from '../servers/tftp/tftp-resolver.ts';
import type { BootLookup } from './boot-lookup.ts';
import { coalesced } from './coalesced.ts';
import type { Foundation } from './foundation.ts';
import { serveMedia } from './media.ts';
import type { SelfCheck } from './self-check.ts';
import type { ServiceOsAuthority } from './service-os-authority.ts';

export interface Place {
  readonly what: string;
  readonly where: string;
}

export interface BootServers {
  readonly chain: BootChain;
  /** Reads the boot files again, now. */
  readonly reload: () => Promise<void>;
  readonly bootContract: () => Promise<BootContract>;
  readonly services: () => Services;
  readonly listeners: Listening['states'];
  /** The port of the open HTTP server, or the configured one while it is off. */
  readonly bootPort: () => number;
  /** Opens HTTP, then TFTP, then DHCP, so that nothing is advertised before it is served. */
  readonly start: () => Promise<Place[]>;
}

const LOOK_AT_ASSETS_EVERY = MINUTE;

interface BootServerDeps extends Pick<SelfCheck, 'applianceProblems'> {
  readonly twins: Pick<TwinWatch, 'booted'>;
  readonly authority: ServiceOsAuthority;
  readonly media: SessionMedia;
}

export function bootServers(
  foundation: Foundation,
  boot: BootLookup,
  { sessions }: Pick<SessionService, 'sessions'>,
  { twins, authority, applianceProblems, media }: BootServerDeps,
): BootServers {
  const { config, store, fleet, trail, follower, clock, newId, logger, stops } = foundation;
  const { library, resolver, dhcp, addresses, bootPort, onFinding, onUnknown } = boot;
  const open: { http: { readonly address: string; readonly port: number } | null; tftp: TftpListeners | null } = {
    http: null,
    tftp: null,
  };
  const own = new OwnRequests(randomBytes(16).toString('hex'));
  const chain = new BootChain({
    ...{ library, fleet, own },
    listening: () => ({ http: open.http, tftp: open.tftp?.places() ?? [] }),
    log: logger,
  });
  const templates = readBootTemplates();
  const scripts = new ScriptIssuer({
    ...{ resolver, sessions, templates, onFinding, onUnknown },
    consume: intentConsumer(store, clock.now),
    strangerAt: (machine, address) =>
      address && neighbourProblem(machine, { address, neighbour: addresses.neighbourOf(address) }),
    onScriptFetched: (mac, address) => {
      dhcp.scriptFetched(mac);
      // Anybody can fetch the script of another machine, but only this machine with its own card.
      const machine = address !== null && addresses.neighbourOf(address) === mac ? fleet.machineByMac(mac) : null;
      if (machine) twins.booted(machine.id);
    },
    onStoreFailure: (error, machine) =>
      logger.error({ err: error, node: machine.spec.hostname }, 'intent not consumed; the machine keeps waiting'),
  });
  const tftp = new TftpListeners({
    ...{ fleet, trail },
    listen: config.listen.tftp,
    settings: config.tftp,
    whoIs: (address) => addresses.whoIs(address),
    log: logger,
    resolver: new TftpResolver({
      ...{ library, resolver },
      macOf: (address) => addresses.macOf(address),
      isSelf: chain.isSelf,
      now: clock.now,
      scriptFor: new BootTexts({ resolver, templates, scripts, bootPort }).textFor,
    }),
  });
  open.tftp = tftp;
  const listening = new Listening({
    ...{ dhcp, tftp },
    bootChain: chain,
    interfaces: new InterfaceWatch(fleet, boot.interfaceIndex),
    log: logger,
  });
  const services = (): Services => ({
    dhcp: dhcp.health(),
    tftp: tftp.health(),
    http: open.http === null ? 'off' : 'running',
  });

  const startHttp = async (): Promise<Place[]> => {
    if (!config.listen.boot) return [];
    const bootApp = await buildBootApp({ newId, logger, services, applianceProblems });
    stops.add(() => bootApp.close());
    const server = new HttpBootServer(
      {
        ...{ resolver, scripts, templates, library },
        sessions: sessions.handler,
        media,
        endFailedBoot: sessions.endFailedBoot,
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
    open.http = await server.start();
    stops.add(() => server.stop());
    return [{ what: 'boot', where: `http://${open.http.address}:${open.http.port}/` }];
  };
  const reload = coalesced(async (): Promise<void> => {
    await authority.update();
    await library.reload();
  });
  const start = async (): Promise<Place[]> => {
    const http = await startHttp();
    serveMedia(foundation, media, open.http);
    stops.add(() => tftp.stop());
    await tftp.reconcile();
    stops.add(() => dhcp.stop());
    await dhcp.start();
    follower.onCatalogueChange = listening.onChange;
    stops.add(() => chain.stop());
    stops.add(listening.follow());
    await chain.followUp();
    // The watch notices it, too, but later: until then a client would be told the size of the old file.
    authority.onChange(() => library.reload().catch((error) => logger.error({ err: error }, 'boot files not read')));
    const lookAtAssets = async (): Promise<void> => {
      await reload();
      await chain.followUp();
    };
    const watch = await LibraryWatch.start({ folder: boot.assetFolder, onChange: lookAtAssets, log: logger });
    stops.add(() => watch.stop());
    // For files that cannot be watched.
    stops.add(repeat(LOOK_AT_ASSETS_EVERY, lookAtAssets, logger));
    return [...http, ...listening.places()];
  };
  return {
    ...{ chain, services, start },
    reload,
    // Whoever asks after a build gets an answer about the new files.
    bootContract: coalesced(async () => {
      await reload();
      return chain.check();
    }),
    listeners: listening.states,
    bootPort: () => open.http?.port ?? bootPort,
  };
}

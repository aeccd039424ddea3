// The management API: on a unix socket for local users, on TCP for bearer tokens.

import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { sshKeyProbe } from '../allocations/key-probe.ts';
import { buildManagementApi, type Mount } from '../api/app.ts';
import { bearerAuthenticator, localAuthenticator } from '../api/auth.ts';
import type { ManagementDeps } from '../api/deps.ts';
import { VERSION } from '../api/diagnosis/version.ts';
import { LiveFeed } from '../api/live/live-feed.ts';
import { openProposals } from '../api/open-proposals.ts';
import { RequestLedger } from '../api/request-ledger.ts';
import { OneTimeCodes } from '../api/sign-in/one-time-codes.ts';
import { SignIn } from '../api/sign-in/sign-in.ts';
import { pageOrToken, WebSessions } from '../api/sign-in/web-sessions.ts';
import { sshProbe } from '../api/ssh-probe.ts';
import { DAY, HOUR, SECOND } from '../domain/instant.ts';
import { mountMcp } from '../mcp/mount.ts';
import { listenOnSocket, listenOnTcp } from '../net/listen.ts';
import { repeat } from '../net/repeat.ts';
import { pageRoutes } from '../web/page-routes.ts';
import type { Place } from './boot-servers.ts';
import type { Foundation } from './foundation.ts';

/** The dependencies that the subsystems provide; the foundation provides the rest. */
export type ApiDeps = Pick<
  ManagementDeps,
  | 'accessKeys'
  | 'allocations'
  | 'sudoPolicies'
  | 'enrollment'
  | 'contactAt'
  | 'work'
  | 'renderings'
  | 'commands'
  | 'services'
  | 'listeners'
  | 'applianceProblems'
  | 'bootPort'
  | 'resolver'
  | 'bootContract'
  | 'bmc'
  | 'exports'
  | 'onboardings'
  | 'maas'
  | 'runTimes'
  | 'terminals'
>;

/** What a crash interrupted continues within this time. */
const SWEEP_PROPOSALS_EVERY = 2 * SECOND;

export async function openApi(
  foundation: Foundation,
  deps: ApiDeps,
  metricsOf: (live: LiveFeed) => ManagementDeps['metrics'],
): Promise<Place[]> {
  const { config, store, fleet, clock, newId, logger, stops, socket } = foundation;
  // Both listeners share it: a request may be repeated on the other one.
  const requests = new RequestLedger({ store, clock, holder: newId() });
  const live = new LiveFeed({
    ...{ store, fleet, now: clock.now, setTimer: clock.setTimer, log: logger },
    breathe: () => setImmediate(),
  });
  const webSessions = new WebSessions(store, clock);
  const signInCodes = new OneTimeCodes(clock);
  const signIn = new SignIn({ store, clock, sessions: webSessions, codes: signInCodes });
  let url: string | null = null;
  const metrics = metricsOf(live);
  const base = {
    ...{
      ...deps,
      requests,
      live,
      metrics,
      store,
      fleet,
      clock,
      newId,
      logger,
      probe: sshProbe(clock.now, sshKeyProbe()),
    },
    ...{ webSessions, signInCodes, signIn, pageUrl: () => url },
  };
  const proposals = openProposals(base);
  const shared = { ...base, proposals };
  stops.add(repeat(SWEEP_PROPOSALS_EVERY, () => proposals.sweep(), logger));
  stops.add(repeat(HOUR, () => store.trimProposals(clock.now() - config.retentionDays * DAY), logger));
  const mount: Mount = (app, handlerDeps) => mountMcp(app, handlerDeps, VERSION);
  const tls = config.tls && { cert: readFileSync(config.tls.certificateFile), key: readFileSync(config.tls.keyFile) };
  const local = await buildManagementApi({ ...shared, authenticate: localAuthenticator(userInfo().username) }, mount);
  stops.add(await listenOnSocket(local, socket));
  const authenticate = pageOrToken(bearerAuthenticator(store, clock), webSessions);
  const management = await buildManagementApi({ ...shared, authenticate, tls, furtherRoutes: pageRoutes }, mount);
  const { address, stop } = await listenOnTcp(management, config.listen.management);
  stops.add(stop);
  url = `${tls ? 'https' : 'http'}://${address}`;
  // Before the listeners: they would wait for open streams.
  stops.add(() => live.stop());
  return [
    { what: 'management', where: `${url}/api/v1` },
    { what: 'socket', where: socket },
  ];
}

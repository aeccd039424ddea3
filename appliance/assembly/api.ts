// The management API: on a unix socket for local users, on TCP for bearer tokens.

import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { sshKeyProbe } from '../allocations/key-probe.ts';
import { buildManagementApi } from '../api/app.ts';
import { bearerAuthenticator, localAuthenticator } from '../api/auth.ts';
import type { ManagementDeps } from '../api/deps.ts';
import { RequestLedger } from '../api/request-ledger.ts';
import { sshProbe } from '../api/ssh-probe.ts';
import { listenOnSocket, listenOnTcp } from '../net/listen.ts';
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
  | 'runTimes'
>;

export async function openApi(foundation: Foundation, deps: ApiDeps): Promise<Place[]> {
  const { config, store, fleet, clock, newId, logger, stops, socket } = foundation;
  // Both listeners share it: a request may be repeated on the other one.
  const requests = new RequestLedger({ store, clock, holder: newId() });
  const shared = { ...deps, requests, store, fleet, clock, newId, logger, probe: sshProbe(clock.now, sshKeyProbe()) };
  const tls = config.tls && { cert: readFileSync(config.tls.certificateFile), key: readFileSync(config.tls.keyFile) };
  const local = await buildManagementApi({ ...shared, authenticate: localAuthenticator(userInfo().username) });
  stops.add(await listenOnSocket(local, socket));
  const management = await buildManagementApi({ ...shared, authenticate: bearerAuthenticator(store, clock), tls });
  const { address, stop } = await listenOnTcp(management, config.listen.management);
  stops.add(stop);
  return [
    { what: 'management', where: `${tls ? 'https' : 'http'}://${address}/api/v1` },
    { what: 'socket', where: socket },
  ];
}

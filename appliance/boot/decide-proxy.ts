// proxyDHCP (PXE 2.1 §2.2.3): another server assigns addresses, we add the boot file. Also the boot server on port 4011,
// which clients of either kind may use.

import type { ClientProgram } from './client-facts.ts';
import type { LeaseReason } from './leases/lease-because.ts';
import type { LeaseRequest } from './leases/lease-request.ts';
import type { NextStage } from './next-stage.ts';

export type ProxyDecision =
  | { readonly kind: 'proxy-offer'; readonly because: LeaseReason }
  | { readonly kind: 'boot-server'; readonly because: LeaseReason }
  | { readonly kind: 'silent'; readonly because: LeaseReason };

const silent = (because: LeaseReason): ProxyDecision => ({ kind: 'silent', because });

const isBootClient = (program: ClientProgram): boolean =>
  program === 'firmware-pxe' || program === 'firmware-http' || program === 'ipxe';

/**
 * A REQUEST on port 67 is for the server that assigns addresses. A reply from here, without an address, makes EDK2
 * decline the lease it already has.
 */
export function decideProxy(request: LeaseRequest, program: ClientProgram, stage: NextStage): ProxyDecision {
  if (request.type !== 'discover') return silent('proxy-without-lease');
  if (!isBootClient(program)) return silent('not-a-boot-client');
  if (stage.kind === 'nothing') return silent('nothing-to-boot');
  return { kind: 'proxy-offer', because: 'proxy-offer' };
}

export function decideBootServer(request: LeaseRequest, program: ClientProgram, stage: NextStage): ProxyDecision {
  if (request.type !== 'request' && request.type !== 'inform') return silent('not-a-boot-client');
  if (!isBootClient(program)) return silent('not-a-boot-client');
  if (stage.kind === 'nothing') return silent('nothing-to-boot');
  return { kind: 'boot-server', because: 'boot-server' };
}

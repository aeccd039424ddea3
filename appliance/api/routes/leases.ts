import { Type } from 'typebox';
import { ColdironError } from '../../domain/errors.ts';
import { ipv4ToNumber } from '../../domain/ipv4.ts';
import { isHeld } from '../../domain/lease.ts';
import { parseObjectName } from '../../domain/names.ts';
import { shown } from '../../domain/parsed.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { refTo } from '../schemas/shared.ts';
import { Lease, leaseView } from '../schemas/trail.ts';

const LeaseFilter = Type.Object({ network: Type.Optional(Type.String()) }, { additionalProperties: false });

export function leaseRoutes(app: App, { store, fleet, clock }: ManagementDeps): void {
  app.get(
    '/leases',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'DHCP leases by address',
        tags: ['network'],
        querystring: LeaseFilter,
        response: { 200: Type.Object({ leases: Type.Array(refTo(Lease)) }) },
      },
    },
    async ({ query }) => {
      const leases = await store.leases(...(query.network === undefined ? [] : [knownNetwork(query.network)]));
      const now = clock.now();
      return {
        leases: leases
          .sort((a, b) => ipv4ToNumber(a.address) - ipv4ToNumber(b.address))
          .map((lease) =>
            leaseView(lease, {
              held: isHeld(lease, now),
              hostname: fleet.machineByMac(lease.mac)?.spec.hostname ?? null,
            }),
          ),
      };
    },
  );

  function knownNetwork(text: string) {
    const name = parseObjectName(text);
    const network = name.ok ? fleet.network(name.value) : null;
    if (!network) throw new ColdironError('not_found', `there is no network ${shown(text)}`);
    return network.name;
  }
}

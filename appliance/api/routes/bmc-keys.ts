import { Type } from 'typebox';
import { Secret } from '../../domain/secret.ts';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import { CredentialsAnswer, CredentialsRequest, RotateAnswer } from '../schemas/bmc.ts';
import { NodeReference } from '../schemas/node.ts';

const tags = ['bmc'];

/** Whoever has a BMC has the machine: all of this is for admins. */
export function bmcKeyRoutes(app: App, deps: ManagementDeps): void {
  const { keys } = deps.bmc;

  app.put(
    '/nodes/:node/bmc/credentials',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'How to log in to its BMC from now on; before what the inventory says',
        tags,
        params: NodeReference,
        body: CredentialsRequest,
        response: { 200: CredentialsAnswer },
      },
    },
    async (request) => {
      const { username, password, key, check = true } = request.body;
      const machine = await findNode(deps, request.params.node);
      const login = { username, password: new Secret(password), key: key === undefined ? null : new Secret(key) };
      const { checked } = await keys.set(machine, originOf(request), login, check);
      return { node: machine.spec.hostname, username, checked };
    },
  );

  app.post(
    '/nodes/:node/bmc/rotate',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'Give our user of its BMC a new random password, that nobody but the vault knows',
        tags,
        params: NodeReference,
        body: Type.Object({}, { additionalProperties: false }),
        response: { 200: RotateAnswer },
      },
    },
    async (request) => {
      const machine = await findNode(deps, request.params.node);
      const { mode, result } = await keys.rotate(machine, originOf(request));
      return { node: machine.spec.hostname, mode, username: result.username };
    },
  );

  app.delete(
    '/nodes/:node/bmc/certificate',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'Trust the next certificate that its BMC shows, after it was replaced on purpose',
        tags,
        params: NodeReference,
        response: { 200: Type.Object({ node: Type.String() }) },
      },
    },
    async (request) => {
      const machine = await findNode(deps, request.params.node);
      await keys.forgetCertificate(machine, originOf(request));
      return { node: machine.spec.hostname };
    },
  );
}

import type { Bmc } from '../../bmc/bmc.ts';
import type { Machine } from '../../domain/machine.ts';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import {
  BootAnswer,
  BootRequest,
  ClearAnswer,
  EventLogAnswer,
  IdentifyAnswer,
  IdentifyRequest,
  logEntryView,
  POWER_ACTIONS,
  PowerAnswer,
  PowerRequest,
  SensorsAnswer,
  sensorView,
} from '../schemas/bmc.ts';
import { NodeReference } from '../schemas/node.ts';

const tags = ['bmc'];

export function bmcRoutes(app: App, deps: ManagementDeps): void {
  const { nodes } = deps.bmc;

  app.get(
    '/nodes/:node/power',
    {
      config: { access: 'viewer' },
      schema: { summary: 'Whether it is on', tags, params: NodeReference, response: { 200: PowerAnswer } },
    },
    async ({ params }) => {
      const machine = await findNode(deps, params.node);
      const { mode, result } = await nodes.ask(machine, (bmc) => bmc.powerState());
      return { ...answered(machine, mode), power: result };
    },
  );

  app.post(
    '/nodes/:node/power',
    {
      config: { access: 'tech' },
      schema: {
        summary: 'Switch it on or off, or start it anew',
        tags,
        params: NodeReference,
        body: PowerRequest,
        response: { 200: PowerAnswer },
      },
    },
    async (request) => {
      const { action } = request.body;
      const machine = await findNode(deps, request.params.node);
      const wish = { what: 'power', details: { action } } as const;
      const { mode, result } = await nodes.act(machine, originOf(request), wish, async (bmc) => {
        await POWER_ACTIONS[action](bmc);
        return bmc.powerState();
      });
      return { ...answered(machine, mode), power: result };
    },
  );

  app.post(
    '/nodes/:node/bootdev',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'What it starts from the next time; power is not touched',
        tags,
        params: NodeReference,
        body: BootRequest,
        response: { 200: BootAnswer },
      },
    },
    async (request) => {
      const { device, persistent = false, firmware = null } = request.body;
      const choice = { device, persistent, firmware };
      const machine = await findNode(deps, request.params.node);
      const wish = { what: 'bootdev', details: choice } as const;
      const { mode, result } = await nodes.act(machine, originOf(request), wish, (bmc) => bmc.setBoot(choice));
      return { ...answered(machine, mode), device: result.device, differences: [...result.differences] };
    },
  );

  app.post(
    '/nodes/:node/identify',
    {
      config: { access: 'tech' },
      schema: {
        summary: 'The light that shows which one it is',
        tags,
        params: NodeReference,
        body: IdentifyRequest,
        response: { 200: IdentifyAnswer },
      },
    },
    async (request) => {
      const { light } = request.body;
      const machine = await findNode(deps, request.params.node);
      const { mode } = await nodes.act(machine, originOf(request), { what: 'identify', details: { light } }, (bmc) =>
        bmc.identify(typeof light === 'number' ? { seconds: light } : light),
      );
      return answered(machine, mode);
    },
  );

  app.get(
    '/nodes/:node/sensors',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'Temperatures, fans, voltages, power supplies',
        tags,
        params: NodeReference,
        response: { 200: SensorsAnswer },
      },
    },
    async ({ params }) => {
      const machine = await findNode(deps, params.node);
      const { mode, result } = await nodes.ask(machine, (bmc) => bmc.sensors());
      return { ...answered(machine, mode), sensors: result.map(sensorView) };
    },
  );

  app.get(
    '/nodes/:node/sel',
    {
      config: { access: 'viewer' },
      schema: {
        summary: "The BMC's own event log, the oldest first",
        tags,
        params: NodeReference,
        response: { 200: EventLogAnswer },
      },
    },
    async ({ params }) => {
      const machine = await findNode(deps, params.node);
      const { mode, result } = await nodes.ask(machine, (bmc) => bmc.eventLog());
      return { ...answered(machine, mode), entries: result.map(logEntryView) };
    },
  );

  app.delete(
    '/nodes/:node/sel',
    {
      config: { access: 'operator' },
      schema: {
        summary: "Empty the BMC's own event log",
        tags,
        params: NodeReference,
        response: { 200: ClearAnswer },
      },
    },
    async (request) => {
      const machine = await findNode(deps, request.params.node);
      const wish = { what: 'clear-event-log', details: {} } as const;
      const { mode } = await nodes.act(machine, originOf(request), wish, (bmc: Bmc) => bmc.clearEventLog());
      return answered(machine, mode);
    },
  );
}

const answered = (machine: Machine, mode: 'real' | 'recorder') => ({ node: machine.spec.hostname, mode });

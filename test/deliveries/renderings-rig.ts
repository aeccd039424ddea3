// Renderings of the example inventory, with an in-memory store.

import { BUILT_IN_TEMPLATES, readNodeModules, readTemplateFiles } from '../../appliance/assets/template-files.ts';
import { type RenderingDeps, Renderings } from '../../appliance/deliveries/renderings.ts';
import type { NewAuditEntry, NewEvent } from '../../appliance/domain/event.ts';
import type { Inventory } from '../../appliance/domain/inventory.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import type { RenderedFile } from '../../appliance/render/rendered-file.ts';
import { compileTemplates } from '../../appliance/render/templates.ts';
import type { DeliveredRendering } from '../../appliance/store/rendering-store.ts';
import { type ExampleDocument, example, inventoryFrom } from '../render/plan-rack.ts';

export const BY = { actor: 'token:admin', correlationId: 'c-1' };
export const KEY = 'the key itself';

export const certificateFiles = (hostname: string): RenderedFile[] => [
  { path: `secrets/${hostname}-cert.pem`, text: 'certificate', mode: 0o644, secret: false },
  { path: `secrets/${hostname}-key.pem`, text: KEY, mode: 0o600, secret: true },
  { path: 'secrets/ca-cert.pem', text: 'authority', mode: 0o644, secret: false },
];

const templates = compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES));

export function rig(change?: (document: ExampleDocument) => void, deps: Partial<RenderingDeps> = {}) {
  let inventory = inventoryFrom(example(change));
  const delivered = new Map<string, DeliveredRendering>();
  const events: NewEvent[] = [];
  const audit: NewAuditEntry[] = [];
  const made: string[] = [];
  const renderings = new Renderings({
    fleet: {
      inventory: () => inventory,
      get at() {
        return inventory;
      },
    },
    store: {
      factsOf: async () => [],
      renderingOf: async (id) => delivered.get(id) ?? null,
      putRendering: async (rendering, event) => {
        delivered.set(rendering.machine, rendering);
        events.push(event);
      },
      appendAudit: async (entries) => void audit.push(...entries),
    },
    templates: { ...templates, overridden: 0, reload: async () => [] },
    modules: readNodeModules(),
    serviceFiles: async ({ spec }) => {
      made.push(spec.hostname);
      return certificateFiles(spec.hostname);
    },
    ports: { boot: 8080, management: 8443, node: 8444 },
    now: () => 1000,
    ...deps,
  });
  return {
    renderings,
    delivered,
    events,
    audit,
    made,
    get inventory(): Inventory {
      return inventory;
    },
    machine: (hostname: string): Machine => {
      const found = inventory.machines.find(({ spec }) => spec.hostname === hostname);
      if (!found) throw new Error(`the example has no ${hostname}`);
      return found;
    },
    /** As after an apply: unchanged objects stay identical. */
    edit: (next: (before: Inventory) => Inventory): void => {
      inventory = { ...next(inventory), revision: inventory.revision + 1 };
    },
  };
}

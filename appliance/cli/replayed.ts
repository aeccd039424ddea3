// Runs the boot decision and the diagnosis on a recording.

import { RECORDING_FORMAT, type RecordedDecision } from '../api/diagnosis/recording.ts';
import { explainNode } from '../api/explain-node.ts';
import { diagnosisView } from '../api/views/diagnosis.ts';
import { BootResolver } from '../boot/boot-resolver.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Inventory } from '../domain/inventory.ts';
import { Fleet } from '../inventory/fleet.ts';
import { diagnose } from '../trail/diagnose.ts';
import type { DiagnosisInput } from '../trail/diagnosis/facts.ts';

interface RecordingFile {
  readonly format: number;
  readonly version: string;
  readonly recorded_at: string;
  readonly situation: DiagnosisInput;
  readonly decision: RecordedDecision;
}

export function replayed(file: string, text: string) {
  const recording = recordingIn(file, text);
  const { situation, decision } = recording;
  try {
    const machine = { ...decision.machine, lifecycle: situation.lifecycle };
    return {
      recorded: { version: recording.version, at: recording.recorded_at },
      decision: decided(recording),
      answer: diagnosisView(machine, diagnose(situation)),
    };
  } catch (error) {
    if (error instanceof ColdironError) throw error;
    throw new ColdironError(
      'usage',
      `${file}: the recording is incomplete: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function decided({ decision, situation }: RecordingFile) {
  const { machine, networks, site, profile } = decision;
  const fleet = new Fleet();
  fleet.replace({
    machines: [machine],
    networks,
    sites: site === null ? [] : [site],
    profiles: profile === null ? [] : [profile],
    skus: [],
    clusters: [],
    roce: [],
    sources: new Map(),
    revision: 1,
    declaredRevision: 1,
  } as unknown as Inventory);
  const unusable = new Set(
    situation.appliance.filter(({ id }) => id.startsWith('boot-file-')).map(({ subject }) => subject),
  );
  const resolver = new BootResolver(fleet, () => situation.now, { available: (name) => !unusable.has(name) });
  const edge = { fleet, bootPort: 8080, resolver, now: situation.now };
  const { outcome, because } = explainNode(edge, machine.id, { arch: null, via: null, state: null, armed: null });
  const recorded = `${decision.outcome}, because ${decision.because}`;
  return {
    outcome: outcome.kind,
    because: because.words,
    recorded,
    changed: recorded !== `${outcome.kind}, because ${because.words}`,
  };
}

function recordingIn(file: string, text: string): RecordingFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ColdironError('usage', `${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (
    typeof value !== 'object' ||
    value === null ||
    !('situation' in value) ||
    !('decision' in value) ||
    !('format' in value)
  )
    throw new ColdironError('usage', `${file} is no recording: coldiron record NODE FILE makes one`);
  if (value.format !== RECORDING_FORMAT)
    throw new ColdironError(
      'usage',
      `${file} has format ${String(value.format)}; this version reads format ${RECORDING_FORMAT}`,
    );
  return value as RecordingFile;
}

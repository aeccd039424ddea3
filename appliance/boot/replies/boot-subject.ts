// What both script languages, iPXE's and GRUB's, are rendered from.

import type { CpuArchitecture } from '../../domain/architecture.ts';
import type { Mac } from '../../domain/mac.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Templates } from '../../render/templates.ts';
import { imagePath, kernelParameters, type OfferedSession } from '../boot-images.ts';
import type { BootServer } from '../boot-paths.ts';
import type { BootDecision } from '../decide-boot.ts';

export interface BootSubject {
  readonly decision: BootDecision;
  /** A removed machine is named on its screen like any other. */
  readonly machine: Machine | null;
  readonly mac: Mac | null;
  readonly server: BootServer;
  readonly architecture: CpuArchitecture | null;
  readonly session?: OfferedSession | null;
}

/** The two loaders that run what we render, each in its own language. */
export interface ScriptLanguage {
  /** null: the decision is to send no reply. */
  readonly boot: (templates: Templates, subject: BootSubject) => string | null;
  /** Keeps the machine at its loader; it retries by itself. */
  readonly hold: (templates: Templates, subject: BootSubject, why: string) => string;
}

export const READING_SECONDS = 60;
export const HOLD_SECONDS = 10;

/** Kernel, initrd and kernel parameters of the image that the decision starts. `locate` gives a path the form of the loader. */
export function startedImage(subject: BootSubject, locate: (path: string) => string) {
  const { decision, machine, mac, server, architecture, session = null } = subject;
  const { outcome, image } = decision;
  if (image === null || architecture === null) throw new Error('a script that starts an image needs the image');
  const hostname = machine?.spec.hostname ?? null;
  return {
    kernel: locate(imagePath(image.kernel)),
    initrd: locate(imagePath(image.initrd)),
    parameters: kernelParameters({ outcome, image, architecture, mac, hostname, server, session }),
  };
}

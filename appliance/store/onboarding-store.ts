// Stored onboarding runs.

import type { NewAuditEntry, NewEvent } from '../domain/event.ts';
import type { Onboarding, OnboardingId, OnboardingState } from '../domain/onboarding.ts';

export interface OnboardingQuery {
  readonly state?: OnboardingState;
  readonly hostname?: string;
  readonly limit: number;
}

/** Each method is one transaction, as `store.ts` promises. */
export interface OnboardingStore {
  /** `conflict`, which names the run, when a run of the same host or the same BMC is open. */
  createOnboarding(run: Onboarding, events: readonly NewEvent[], audit: readonly NewAuditEntry[]): Promise<void>;
  /**
   * Replaces the record. `run.version` is one more than that of the record it was made from: otherwise `version_conflict`, and nothing is
   * written. `conflict` when a closed run is opened again while another run of its host or its BMC is open.
   */
  updateOnboarding(run: Onboarding, events: readonly NewEvent[], audit: readonly NewAuditEntry[]): Promise<void>;
  onboarding(id: OnboardingId): Promise<Onboarding | null>;
  /** The newest first. */
  onboardings(query: OnboardingQuery): Promise<Onboarding[]>;
  /** The oldest first. */
  openOnboardings(): Promise<Onboarding[]>;
  hasCompletedOnboarding(site: string): Promise<boolean>;
}

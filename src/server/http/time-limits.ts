/** How long connections and requests may take, in milliseconds. Tests pass shorter times. */
export interface TimeLimits {
  /** Until the head of a request has arrived. */
  headMs: number
  /** Until the body of a management call has arrived. */
  bodyMs: number
  /** Until the body of a relayed call has arrived. */
  relayBodyMs: number
  /** For which the rest of a body is read and dropped after its call was answered without it. */
  restMs: number
  /** For which a client may take nothing of a response that waits for it. */
  writeMs: number
  /** For which a connection may stay open without a request. */
  idleMs: number
  /**
   * The same for connections of `TRUSTED_PROXIES`. Longer than proxies keep theirs, or one may send
   * a call by a connection that has just been closed, which it must not repeat. Traefik keeps them
   * for 90 seconds, Caddy for 2 minutes, Google's balancers for 10. Source: Google Cloud, "External
   * Application Load Balancer overview", timeouts.
   */
  proxyIdleMs: number
  /** Interval at which heads are checked. */
  checkMs: number
}

export const TIME_LIMITS: TimeLimits = {
  headMs: 15_000,
  bodyMs: 30_000,
  relayBodyMs: 120_000,
  restMs: 5000,
  writeMs: 60_000,
  idleMs: 75_000,
  proxyIdleMs: 620_000,
  // Node's own half a minute would make three times as long of the limit.
  checkMs: 5000,
}

// The package of a platform is the addon; none of them is installed in a checkout.
declare module '@stello-ai/session-*' {
  const addon: typeof import('./native.cjs')
  export = addon
}

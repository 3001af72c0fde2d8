/** As much of the driver as the tests use. */
declare module 'pg' {
  export class Client {
    constructor(options: { connectionString: string })
    connect(): Promise<void>
    query<Row = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<{ rows: Row[] }>
    end(): Promise<void>
  }
}

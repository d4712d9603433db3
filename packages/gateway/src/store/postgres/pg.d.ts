declare module "pg/lib/client.js" {
  import { Client } from "pg";
  export default Client;
}
declare module "pg/lib/connection.js" {
  import { Connection } from "pg";
  export default Connection;
}

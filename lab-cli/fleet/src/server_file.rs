//! A file of settings for a server, with what each role may do.

/// For `nats-server -c FILE`. Agents cannot place work, nor make or delete what the server keeps.
pub const SERVER_FILE: &str = r#"# Settings of nats-server (2.10 or newer) for lab: nats-server -c FILE
# Passwords come from the environment of the server, and begin with a letter. Coordinators and agents show theirs in LAB_NATS_TOKEN as
# coordinator:PASSWORD and agent:PASSWORD, or in a file (--nats-creds).
listen: "127.0.0.1:4222"

# Other machines need TLS: listen: "0.0.0.0:4222", and
# tls { cert_file: "server.pem", key_file: "server-key.pem" }

jetstream {
  store_dir: "lab-nats"
  # Results that are acknowledged are on the disk. The queue is in memory: coordinators place again what a power failure takes.
  sync_interval: always
}

authorization {
  users: [
    {
      user: coordinator
      password: $LAB_COORDINATOR_PASSWORD
      permissions {
        publish: ["$JS.API.>", "$JS.FC.>", "$KV.lab_results.>", "$KV.lab_loads.>", "$O.lab_files.>", "lab.work.>", "lab.agent.>"]
        subscribe: ["_INBOX.>"]
      }
    }
    {
      user: agent
      password: $LAB_AGENT_PASSWORD
      permissions {
        publish: [
          "$JS.ACK.lab_work.>", "$JS.FC.>", "$KV.lab_results.>", "$KV.lab_agents.>", "$KV.lab_loads.>", "$O.lab_files.>"
          "$JS.API.STREAM.INFO.lab_work", "$JS.API.CONSUMER.INFO.lab_work.*", "$JS.API.CONSUMER.MSG.NEXT.lab_work.*"
          "$JS.API.STREAM.INFO.KV_lab_results", "$JS.API.DIRECT.GET.KV_lab_results.>"
          "$JS.API.STREAM.INFO.KV_lab_agents", "$JS.API.DIRECT.GET.KV_lab_agents.>"
          "$JS.API.STREAM.INFO.KV_lab_loads"
          "$JS.API.STREAM.INFO.OBJ_lab_files", "$JS.API.DIRECT.GET.OBJ_lab_files.>"
          "$JS.API.CONSUMER.CREATE.OBJ_lab_files", "$JS.API.CONSUMER.CREATE.OBJ_lab_files.>"
        ]
        subscribe: ["_INBOX.>", "lab.agent.>"]
        # Answers to a coordinator.
        allow_responses: true
      }
    }
  ]
}
"#;

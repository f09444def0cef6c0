//! A file of settings for a server, with what each role may do.

const HEAD: &str = r#"# Settings of nats-server (2.10 or newer) for lab: nats-server -c FILE
# Passwords come from the environment of the server, and begin with a letter. Coordinators and agents show theirs in LAB_NATS_TOKEN as
# coordinator:PASSWORD and USER:PASSWORD of an agent, or in a file (--nats-creds).
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
"#;

/// The user of agents.
const AGENT: &str = r#"    {
      user: {user}
      password: {password}
      permissions {
        publish: [
          "$JS.ACK.lab_work.>", "$JS.FC.>", "$KV.lab_results.>", "$KV.lab_agents.{agent}", "$KV.lab_loads.{posts}", "$O.lab_files.>"
          "$JS.API.STREAM.INFO.lab_work", "$JS.API.CONSUMER.INFO.lab_work.*", "$JS.API.CONSUMER.MSG.NEXT.lab_work.*"
          "$JS.API.STREAM.INFO.KV_lab_results", "$JS.API.DIRECT.GET.KV_lab_results.>"
          "$JS.API.STREAM.INFO.KV_lab_agents", "$JS.API.DIRECT.GET.KV_lab_agents.>"
          "$JS.API.STREAM.INFO.KV_lab_loads"
          "$JS.API.STREAM.INFO.OBJ_lab_files", "$JS.API.DIRECT.GET.OBJ_lab_files.>"
          "$JS.API.CONSUMER.CREATE.OBJ_lab_files", "$JS.API.CONSUMER.CREATE.OBJ_lab_files.>"
        ]
        subscribe: ["_INBOX.>", "lab.agent.{agent}"]
        # Answers to a coordinator.
        allow_responses: true
      }
    }
"#;

/// For `nats-server -c FILE`. Agents cannot place work, nor make or delete what the server keeps. Without names there is one user for all
/// agents, each of which may post for others; else each has its own, and posts under its own name alone.
#[must_use]
pub fn server_file(agents: &[&str]) -> String {
    let user = |name: &str, password: &str, agent: &str, posts: &str| {
        let filled = AGENT.replace("{user}", name).replace("{password}", password);
        filled.replace("{agent}", agent).replace("{posts}", posts)
    };
    let of_one = |name: &&str| {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let password: String = name.chars().map(letter).collect();
        user(name, &format!("$LAB_AGENT_PASSWORD_{password}"), name, &format!("*.{name}.>"))
    };
    let users: String = match agents {
        [] => user("agent", "$LAB_AGENT_PASSWORD", ">", ">"),
        names => names.iter().map(of_one).collect(),
    };
    format!("{HEAD}{users}  ]\n}}\n")
}

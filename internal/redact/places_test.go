package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlaces(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string
	}{
		"SQLRole": {
			reason: "SQL has passwords in quotes.",
			in:     "near \"X\": ALTER ROLE bob LOGIN PASSWORD 'hun''ter2' X",
			want:   "near \"X\": ALTER ROLE bob LOGIN PASSWORD [REDACTED] X",
		},
		"SQLLower": {
			reason: "In lower case as well.",
			in:     "create user bob with password 'hunter2' createdb",
			want:   "create user bob with password [REDACTED] createdb",
		},
		"SQLFunction": {
			reason: "Also for a function.",
			in:     "SET PASSWORD FOR 'bob'@'%' = PASSWORD('hunter2') failed",
			want:   "SET PASSWORD FOR 'bob'@'%' = [REDACTED] failed",
		},
		"SQLIdentified": {
			reason: "MySQL writes it otherwise.",
			in:     "ALTER USER bob IDENTIFIED WITH caching_sha2_password BY 'hunter2' REQUIRE SSL",
			want:   "ALTER USER bob IDENTIFIED WITH caching_sha2_password BY [REDACTED] REQUIRE SSL",
		},
		"SQLBare": {
			reason: "Oracle needs no quotes.",
			in:     "alter user bob identified by hunter2 account unlock",
			want:   "alter user bob identified by [REDACTED] account unlock",
		},
		"Redis": {
			reason: "Redis has its own words.", in: "CONFIG SET requirepass hunter2",
			want: "CONFIG SET requirepass [REDACTED]",
		},
		"Wrong": {
			reason: "Somebody repeats it.", in: `wrong password "hunter2" for bob`,
			want: `wrong password [REDACTED] for bob`,
		},
		"DSN": {
			reason: "The driver of MySQL has no scheme.", in: `open "bob:hun@ter2@tcp(h:3306)/db"`,
			want: `open "[REDACTED]@tcp(h:3306)/db"`,
		},
		"DSNSocket": {
			reason: "Nor for a socket.", in: "dsn=bob:hunter2@unix(/run/mysql.sock)/db",
			want: "dsn=[REDACTED]@unix(/run/mysql.sock)/db",
		},
		"DSNOracle": {
			reason: "Oracle has a slash.", in: "jdbc:oracle:thin:bob/hunter2@//h:1521/x",
			want: "jdbc:oracle:thin:[REDACTED]@//h:1521/x",
		},
		"DSNPort": {
			reason: "A host with a port has a user before it.",
			in:     "dial bob:hunter2@h:5432: refused", want: "dial [REDACTED]@h:5432: refused",
		},
		"Flag": {
			reason: "A flag can have a space behind it.", in: "exec tool --db-password hunter2 -v",
			want: "exec tool --db-password [REDACTED] -v",
		},
		"FlagList": {
			reason: "Arguments are printed as a list.",
			in:     `run ["tool" "--token" "hun ter2" "-v"]`,
			want:   `run ["tool" "--token" [REDACTED] "-v"]`,
		},
		"FlagJSON": {
			reason: "Or in JSON, within JSON.", in: `{"args":"[\"--api-key\",\"hunter2\"]"}`,
			want: `{"args":"[\"--api-key\",[REDACTED]]"}`,
		},
		"FlagShort": {
			reason: "Other programs have one dash.", in: "java -Dx=y -password hunter2 Main",
			want: "java -Dx=y -password [REDACTED] Main",
		},
		"Curl": {
			reason: "User and password have a colon between them.",
			in:     "curl -sS -u 'bob:hunter2' https://h",
			want:   "curl -sS -u 'bob:[REDACTED]' https://h",
		},
		"SSHPass": {
			reason: "Some programs have short flags.", in: "sshpass -p hunter2 ssh h",
			want: "sshpass -p [REDACTED] ssh h",
		},
		"Login": {
			reason: "So has docker.", in: "docker login -u bob -p hunter2 registry.example.com",
			want: "docker login -u bob -p [REDACTED] registry.example.com",
		},
		"MySQL": {
			reason: "And mysql, without a space.", in: "mysqldump -u bob -phunter2 -h h db",
			want: "mysqldump -u bob -p[REDACTED] -h h db",
		},
		"RedisCLI": {
			reason: "And redis.", in: "redis-cli -h h -a hunter2 ping",
			want: "redis-cli -h h -a [REDACTED] ping",
		},
		"LDAP": {
			reason: "And LDAP.", in: "ldapsearch -D cn=bob -w hunter2 -b dc=x",
			want: "ldapsearch -D cn=bob -w [REDACTED] -b dc=x",
		},
		"OpenSSL": {
			reason: "And OpenSSL.", in: "openssl rsa -passin pass:hunter2 -in x",
			want: "openssl rsa -passin pass:[REDACTED] -in x",
		},
		"Literal": {
			reason: "Whatever a Secret is made of.",
			in:     "kubectl create secret generic x --from-literal=pin=hunter2 -n y",
			want:   "kubectl create secret generic x --from-literal=pin=[REDACTED] -n y",
		},
		"CookieJSON": {
			reason: "A header in JSON is one.", in: `{"Cookie":"sid=hunter2; a=b","x":1}`,
			want: `{"Cookie":[REDACTED],"x":1}`,
		},
		"CookieMap": {
			reason: "A printed map is one.", in: "map[Cookie:[sid=hunter2; a=b] X:[y]]",
			want: "map[Cookie:[REDACTED] X:[y]]",
		},
		"CookieQuoted": {
			reason: "The quote of a command ends it.", in: "-H 'Cookie: sid=hunter2; a=b' -X POST",
			want: "-H 'Cookie: [REDACTED]' -X POST",
		},
		"CookieSet": {
			reason: "The server sets it.", in: "Set-Cookie: sid=hunter2; Path=/; HttpOnly\nVia: x",
			want: "Set-Cookie: [REDACTED]\nVia: x",
		},
		"Digest": {
			reason: "A digest without its header.",
			in:     `sent Digest username="bob", response="hunter2" twice`,
			want:   `sent Digest [REDACTED] twice`,
		},
		"Negotiate": {
			reason: "Or a ticket.",
			in:     "sent Negotiate YIIJvwYGKwYBBQUCoIIJszCCCa+gDTALBgkq, got 401",
			want:   "sent Negotiate [REDACTED], got 401",
		},
		"SMTP": {
			reason: "Mail has it in base64.", in: "AUTH PLAIN AGJvYgBodW50ZXIy rejected",
			want: "AUTH PLAIN [REDACTED] rejected",
		},
		"XMLSpace": {
			reason: "An element can have a prefix and attributes.",
			in:     `<a:UserPassword type="x">hun ter2</a:UserPassword>`,
			want:   `<a:UserPassword type="x">[REDACTED]</a:UserPassword>`,
		},
		"XMLCut": {
			reason: "It can lack its end.", in: "<x><Password>hunter2",
			want: "<x><Password>[REDACTED]",
		},
		"XMLInJSON": {
			reason: "JSON escapes its brackets.",
			in:     `{"body":"\u003cPassword\u003ehunter2\u003c/Password\u003e"}`,
			want:   `{"body":"\u003cPassword\u003e[REDACTED]\u003c/Password\u003e"}`,
		},
		"XMLInHTML": {
			reason: "So does HTML.", in: `&lt;Password&gt;hunter2&lt;/Password&gt;`,
			want: `&lt;Password&gt;[REDACTED]&lt;/Password&gt;`,
		},
		"XMLEntry": {
			reason: "The name can be an attribute.",
			in:     `<entry key="db.password">hunter2</entry>`,
			want:   `<entry key="db.password">[REDACTED]</entry>`,
		},
		"Property": {
			reason: "Or the value as well.", in: `<property name="password" value="hunter2"/>`,
			want: `<property name="password" value=[REDACTED]/>`,
		},
		"Pair": {
			reason: "YAML has it in two lines.",
			in:     "- name: API_TOKEN\n  value: hunter2\n- name: X",
			want:   "- name: API_TOKEN\n  value: [REDACTED]\n- name: X",
		},
		"KindSecret": {
			reason: "A Secret has nothing else.",
			in:     `{"apiVersion":"v1","data":{"pin":"aHVudGVyMg=="},"kind":"Secret","metadata":{"name":"x"}}`,
			want:   `{"apiVersion":"v1","data":[REDACTED],"kind":"Secret","metadata":{"name":"x"}}`,
		},
		"SlackEscaped": {
			reason: "An address can be escaped.",
			in:     "?to=https%3A%2F%2Fhooks.slack.com%2Fservices%2FT0%2FB0%2Fhunter2 failed",
			want:   "?to=https%3A%2F%2Fhooks.slack.com%2Fservices%2F[REDACTED] failed",
		},
		"Zapier": {
			reason: "Others are secret as well.",
			in:     `Post "https://hooks.zapier.com/hooks/catch/1/hunter2/": EOF`,
			want:   `Post "https://hooks.zapier.com/hooks/catch/[REDACTED]": EOF`,
		},
		"Telegram": {
			reason: "A bot is known without its address.",
			in:     "bot " + "1234567890:A" + strings.Repeat("Ab1", 11) + "x is blocked",
			want:   "bot [REDACTED] is blocked",
		},
		"Mailchimp": {
			reason: "The sign is at the end.",
			in:     "key " + strings.Repeat("0a", 16) + "-us12 expired",
			want:   "key [REDACTED] expired",
		},
		"K3s": {
			reason: "A node joins with it.",
			in:     "join with K10" + strings.Repeat("0a", 32) + "::server:hunter2 failed",
			want:   "join with K10" + strings.Repeat("0a", 32) + "::server:[REDACTED] failed",
		},
		"FlagNot": {
			reason: "A sentence about a flag has no value.",
			in:     "--token, --password and --api-key are required: --secret not given, see --token <token>",
			want:   "--token, --password and --api-key are required: --secret not given, see --token <token>",
		},
		"FlagUsage": {
			reason: "Nor has its usage.",
			in:     "unknown flag: --x\nFlags:\n  --token string   the token\n  --password-file file\n",
			want:   "unknown flag: --x\nFlags:\n  --token string   the token\n  --password-file file\n",
		},
		"FlagNextLine": {
			reason: "Nor the next line.", in: "unknown flag: --token\nUsage: tool",
			want: "unknown flag: --token\nUsage: tool",
		},
		"CurlIDs": {reason: "Numbers are ids.", in: "curl --user 1000:1000", want: "curl --user 1000:1000"},
		"IdentifiedWord": {
			reason: "It is English as well.",
			in:     "the object identified by 'vpc-12' and user 7 identified by x",
			want:   "the object identified by 'vpc-12' and user 7 identified by x",
		},
		"PasswordWord": {
			reason: "A quoted word is no password.",
			in:     `near "PASSWORD" (SQLSTATE 42601), 'db-password' not found`,
			want:   `near "PASSWORD" (SQLSTATE 42601), 'db-password' not found`,
		},
		"DigestWord": {
			reason: "An image has another digest.",
			in:     "digest sha256:00 and Digest realm=\"x\", nonce=\"y\"",
			want:   "digest sha256:00 and Digest realm=\"x\", nonce=\"y\"",
		},
		"CookieWord": {
			reason: "A sentence about cookies has none.", in: "cookie: not found, Cookies: [a b]",
			want: "cookie: not found, Cookies: [a b]",
		},
		"Placeholder": {
			reason: "What is meant is no element.",
			in:     "call AUTH <password> first, or <token/> then </a>",
			want:   "call AUTH <password> first, or <token/> then </a>",
		},
		"ImageWithDigest": {
			reason: "The digest of an image is no host.",
			in:     "pull reg/a:1.2@sha256:123456 failed", want: "pull reg/a:1.2@sha256:123456 failed",
		},
		"Capabilities": {
			reason: "Mechanisms are no passwords.", in: "250-AUTH PLAIN OAUTHBEARER LOGIN XOAUTH2",
			want: "250-AUTH PLAIN OAUTHBEARER LOGIN XOAUTH2",
		},
		"Topic": {
			reason: "The account before a topic is no bot.",
			in:     "arn:aws:sns:us-east-1:123456789012:Application-load-balancer-5xx-alarm1",
			want:   "arn:aws:sns:us-east-1:123456789012:Application-load-balancer-5xx-alarm1",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, String(tc.in)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want, String(tc.want)); diff != "" {
				t.Errorf("%s\nA second time: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

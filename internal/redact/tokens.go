package redact

import "strings"

// A token describes the shape of one kind of secret: its prefix, and how many letters of an alphabet follow. The text
// around it does not matter.
type token struct {
	prefixes string // with spaces between them
	of       *alphabet
	least    int
	exact    bool // No more than the least follow.
	inside   bool // A letter or digit may stand before it.
}

// tokens are the public formats of keys, tokens and hashes. A prefix that is the beginning of
// ordinary names, such as key-, has an exact length.
var tokens = []token{
	{prefixes: "eyJ", of: dottedLetters, least: 8,
		inside: true}, // JSON web tokens and other encoded JSON
	{
		prefixes: "SU SA SO SN SC SX", of: base32Letters, least: 56, inside: true,
	}, // NATS seeds
	{
		prefixes: "LS0tLS1CRUdJTi", of: base64Letters, least: 16, inside: true,
	}, // PEM blocks in base64
	{
		prefixes: "MIIEvQIBADAN MIIEvgIBADAN MIIEvwIBADAN MIIJQwIBADAN MIIJQgIBADAN",
		of:       base64Letters, least: 16,
	}, // private keys without their block
	{
		prefixes: "MIIEpAIBAAKC MIIEowIBAAKC MIIEpQIBAAKC MIIJKAIBAAKC MIIJKQIBAAKC",
		of:       base64Letters, least: 16,
	}, // the same, for RSA alone
	{
		prefixes: "MIGHAgEAMBM MHcCAQEE MC4CAQAwBQYDK2Vw b3BlbnNzaC1rZXktdjE", of: base64Letters,
		least: 16,
	}, // the same, for elliptic curves and SSH
	{prefixes: "TlRMTVNTUAAD", of: base64Letters,
		least: 16}, // answers of NTLM
	{
		prefixes: "$1$ $5$ $6$ $y$ $2a$ $2b$ $2y$ $apr1$ $argon2i$ $argon2id$", of: hashLetters,
		least: 26,
	}, // hashes of passwords
	{
		prefixes: "SCRAM-SHA-256$ SCRAM-SHA-512$", of: hashLetters, least: 40,
	}, // the same, of PostgreSQL
	{
		prefixes: "AKIA ASIA AIDA AROA AGPA ANPA ANVA ABIA ACCA A3T", of: upperLetters, least: 12,
	}, // AWS
	{prefixes: "LTAI", of: wordLetters, least: 16}, // Alibaba Cloud
	{
		prefixes: "AIza GOCSPX- ya29.", of: dottedLetters, least: 16,
	}, // Google
	{
		prefixes: "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", of: nameLetters, least: 16,
	}, // GitHub
	{
		prefixes: "glpat- gldt- glft- glsoat- glrt- glptt- glcbt- glimt- glagent- gloas-",
		of:       nameLetters, least: 16,
	}, // GitLab
	{
		prefixes: "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxp- xoxr- xoxs- xapp-", of: nameLetters,
		least: 16,
	}, // Slack
	{
		prefixes: "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_ whsec_", of: nameLetters,
		least: 16,
	}, // Stripe
	{prefixes: "SG.", of: dottedLetters, least: 40}, // SendGrid
	{
		prefixes: "dop_v1_ doo_v1_ dor_v1_", of: wordLetters, least: 40,
	}, // DigitalOcean
	{prefixes: "glsa_ glc_", of: base64AnyLetters,
		least: 24}, // Grafana
	{prefixes: "hvs. hvb. hvr.", of: nameLetters,
		least: 20}, // Vault
	{
		prefixes: "sk-proj- sk-svcacct- sk-admin- sk-ant- sk-or-", of: nameLetters, least: 32,
	}, // OpenAI, Anthropic, OpenRouter
	{
		prefixes: "hf_ api_org_ r8_ gsk_ xai- pplx-", of: wordLetters, least: 30,
	}, // hosts of models
	{prefixes: "nvapi-", of: nameLetters, least: 40}, // NVIDIA
	{
		prefixes: "dapi SK key- md5", of: hexLetters, least: 32, exact: true,
	}, // Databricks, Twilio, Mailgun, hashes of PostgreSQL
	{
		prefixes: "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", of: dottedLetters, least: 30,
	}, // Doppler
	{prefixes: "dt0c01. dt0s16.", of: dottedLetters,
		least: 60}, // Dynatrace
	{prefixes: "dckr_pat_ dckr_oat_", of: nameLetters,
		least: 20}, // Docker
	{prefixes: "npm_", of: wordLetters, least: 16},     // npm
	{prefixes: "pypi-AgE", of: nameLetters, least: 40}, // PyPI
	{
		prefixes: "rubygems_ sgp_ sntryu_ sbp_ pul-", of: wordLetters, least: 40,
	}, // RubyGems, Sourcegraph, Sentry, Supabase, Pulumi
	{
		prefixes: "shpat_ shpca_ shppa_ shpss_", of: wordLetters, least: 32,
	}, // Shopify
	{prefixes: "NRAK- NRJS- NRII-", of: nameLetters,
		least: 19}, // New Relic
	{prefixes: "sha256~", of: nameLetters, least: 40}, // OpenShift
	{prefixes: "AGE-SECRET-KEY-1", of: upperLetters,
		least: 50}, // age
	{prefixes: "PMAK-", of: nameLetters, least: 48}, // Postman
	{
		prefixes: "pscale_tkn_ pscale_pw_ pscale_oauth_ sb_secret_ tskey- sq0atp- sq0csp-",
		of:       nameLetters, least: 20,
	}, // PlanetScale, Supabase, Tailscale, Square
	{prefixes: "lin_api_ ntn_ AKCp", of: wordLetters,
		least: 40}, // Linear, Notion, Artifactory
	{prefixes: "xkeysib-", of: wordLetters, least: 60}, // Brevo
	{prefixes: "ATATT3 ATCTT3", of: base64AnyLetters,
		least: 40}, // Atlassian
	{
		prefixes: "fo1_ fm1a_ fm1r_ fm2_", of: base64AnyLetters, least: 40,
	}, // Fly.io
	{prefixes: "CLOJARS_ EZAK rdme_", of: wordLetters,
		least: 50}, // Clojars, EasyPost, ReadMe
	{
		prefixes: "figd_ tfp_ nfp_ duffel_live_ duffel_test_ CFPAT- HRKU-AA ory_at_ ory_st_",
		of:       nameLetters, least: 32,
	}, // Figma, Typeform, Netlify, Duffel, Contentful, Heroku, Ory
	{
		prefixes: "squ_ sqp_ sqa_ bkua_ shippo_live_ shippo_test_", of: wordLetters, least: 40,
	}, // Sonar, Buildkite, Shippo
	{prefixes: "access_token$", of: hashLetters,
		least: 30}, // Braintree
	{
		prefixes: "FLWSECK- FLWSECK_TEST- p8e- ico-", of: nameLetters, least: 32,
	}, // Flutterwave, Adobe, Infracost
}

// An alphabet says which bytes belong to it.
type alphabet [256]bool

var (
	hexLetters       = alphabetOf("0123456789abcdef")
	upperLetters     = alphabetOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	base32Letters    = alphabetOf("234567ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	wordLetters      = alphabetOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	nameLetters      = wordLetters.and("_-")
	base64Letters    = wordLetters.and("+/=")
	base64AnyLetters = nameLetters.and("+/=")
	dottedLetters    = base64AnyLetters.and(".")
	hashLetters      = base64Letters.and(".$,:-")
)

func alphabetOf(letters string) *alphabet {
	return (&alphabet{}).and(letters)
}

// and returns an alphabet with more letters.
func (a *alphabet) and(letters string) *alphabet {
	more := *a
	for i := range len(letters) {
		more[letters[i]] = true
	}

	return &more
}

// run returns how many bytes of the alphabet s begins with.
func (a *alphabet) run(s string) int {
	for i := range len(s) {
		if !a[s[i]] {
			return i
		}
	}

	return len(s)
}

// beginning has the tokens by their first byte, each with one prefix.
var beginning = byFirst(tokens)

func byFirst(all []token) (first [256][]token) {
	for _, t := range all {
		for _, prefix := range strings.Fields(t.prefixes) {
			t.prefixes = prefix
			first[prefix[0]] = append(first[prefix[0]], t)
		}
	}

	return first
}

// continued is how the continue token of a list of Kubernetes begins. It is encoded JSON,
// but no secret.
const continued = "eyJ2IjoibWV0YS5rOHMuaW8v"

// withoutTokens removes secrets that are found by their shape.
func withoutTokens(s string) string {
	var b strings.Builder

	kept := 0

	for i := 0; i < len(s); {
		n := tokenLen(s, i)
		if n == 0 {
			i++

			continue
		}

		if strings.HasPrefix(s[i:], continued) {
			i += n

			continue
		}

		b.WriteString(s[kept:i])
		b.WriteString(mark)

		i += n
		kept = i
	}

	if kept == 0 {
		return s
	}

	b.WriteString(s[kept:])

	return b.String()
}

// tokenLen returns the length of the token at s[i]. A point that ends a sentence does not belong to the token.
func tokenLen(s string, i int) int {
	candidates := beginning[s[i]]
	begins := len(candidates) > 0 && apart(s, i)

	for _, t := range candidates {
		if !t.inside && !begins { // cheaper than the prefix
			continue
		}

		rest, ok := strings.CutPrefix(s[i:], t.prefixes)
		if !ok || t.exact && i > 0 && (s[i-1] == '-' || s[i-1] == '_') {
			continue
		}

		n := t.of.run(rest)
		n = len(strings.TrimRight(rest[:n], ".,:"))

		switch {
		case n < t.least, t.exact && (n > t.least || n < len(rest) && wordLetters[rest[n]]):
		default:
			return len(t.prefixes) + n
		}
	}

	return 0
}

// apart reports whether a word can begin at s[i]. That is the case if no letter or digit is before it, except in an
// escape.
func apart(s string, i int) bool {
	switch {
	case i == 0 || !wordLetters[s[i-1]]:
		return true
	case i >= 2 && s[i-2] == '\\':
		return strings.IndexByte("nrt", s[i-1]) >= 0
	case i >= 3 && s[i-3] == '%':
		return digit(s[i-2]) >= 0 && digit(s[i-1]) >= 0
	default:
		return false
	}
}

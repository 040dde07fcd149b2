package postgres

import (
	"strings"
	"testing"
)

func TestSupported(t *testing.T) {
	for version, ok := range map[string]bool{
		"13.0": true, "15.9 (Debian 15.9-0+deb12u1)": true, "16beta1": true, "18": true, "17devel": true,
		"9.6.24": false, "12.22": false, "": false, "CockroachDB": false,
	} {
		if err := supported(version); (err == nil) != ok {
			t.Errorf("%q: got %v, want supported %v", version, err, ok)
		}
	}
}

func TestSettingsComeFromTheConfigurationAlone(t *testing.T) {
	for _, name := range []string{"PGHOST", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGOPTIONS", "PGAPPNAME"} {
		t.Setenv(name, "elsewhere")
	}
	got, err := Config{Host: "db", Port: 5433, Database: "postgres", User: "u", Password: "p"}.pool()
	if err != nil {
		t.Fatal(err)
	}
	c := got.ConnConfig
	if c.Host != "db" || c.Port != 5433 || c.Database != "postgres" || c.User != "u" || c.Password != "p" {
		t.Errorf("the settings are %s:%d %s %s", c.Host, c.Port, c.Database, c.User)
	}
	for name, value := range c.RuntimeParams {
		if strings.Contains(value, "elsewhere") {
			t.Errorf("the parameter %s is %q", name, value)
		}
	}
	if c.TLSConfig == nil || c.TLSConfig.InsecureSkipVerify || c.TLSConfig.ServerName != "db" || len(c.Fallbacks) > 0 {
		t.Error("the certificate of the server is not verified")
	}
}

func TestWrongSettings(t *testing.T) {
	for text, c := range map[string]Config{
		"no certificate": {Host: "db", CA: "a password by mistake"},
		"not allowed":    {Host: "db", Port: 5432, AllowedHosts: []string{"other", "db:1"}},
	} {
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want an error with %q", err, text)
		}
	}
}

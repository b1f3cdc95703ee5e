package generate

import "testing"

func TestName(t *testing.T) {
	for path, want := range map[string]string{
		"orders.eo": "orders", "a/b/User-Totals_v2.eo": "usertotalsv2", "orders": "orders", "orders_test.eo": "orderstest",
		"type.eo": "pipelinetype", "string.eo": "pipelinestring", "main.eo": "pipelinemain", "internal.eo": "pipelineinternal",
		"2024.eo": "pipeline2024", "-.eo": "pipeline", ".eo": "pipeline", "größe.eo": "gre", "time.eo": "time", "rt.eo": "rt",
	} {
		if got := Name(path); got != want {
			t.Errorf("%s becomes package %s, want %s", path, got, want)
		}
	}
}

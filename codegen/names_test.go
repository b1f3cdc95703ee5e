package codegen

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, exported, unexported, file string }{
		{"user_id", "UserID", "userID", "user_id"},
		{"userId", "UserID", "userID", "userid"},
		{"id", "ID", "id", "id"},
		{"URL", "URL", "url", "url"},
		{"USER_ID", "UserID", "userID", "user_id"},
		{"HTTPServer", "HTTPServer", "httpServer", "httpserver"},
		{"SKUItem", "SKUItem", "skuItem", "skuitem"},
		{"user-totals/where-2", "UserTotalsWhere2", "userTotalsWhere2", "user_totals_where_2"},
		{"_test", "Test", "test", "test"},
		{"1st", "X1st", "x1st", "1st"},
		{"", "X", "x", "x"},
		{"*/", "X", "x", "x"},
		{"été", "Été", "été", "t_"},
		{"日本", "X日本", "日本", "x"},
		{"a\nb\"`c", "ABC", "aBC", "a_b__c"},
	} {
		if got := exported(c.name); got != c.exported {
			t.Errorf("exported(%q) = %q, want %q", c.name, got, c.exported)
		}
		if got := unexported(c.name); got != c.unexported {
			t.Errorf("unexported(%q) = %q, want %q", c.name, got, c.unexported)
		}
		if got := newScope().file(c.name, "stream"); got != c.file+"_stream.go" {
			t.Errorf("file(%q) = %q, want %q", c.name, got, c.file)
		}
	}
}

func TestScope(t *testing.T) {
	s := newScope("total")
	for _, c := range []struct{ got, want string }{
		{s.take("total"), "total2"}, {s.take("total"), "total3"}, {s.take("total2"), "total22"},
		{s.take("func"), "func2"}, {s.take("len"), "len2"}, {s.take("rt"), "rt2"},
		{s.member("max"), "max"}, {s.member("range"), "range2"},
		{s.file("a_b", "source"), "a_b_source.go"}, {s.file("A-b", "source"), "a_b_source2.go"},
		{s.inner("x").take("x"), "x2"}, {s.inner().take("total"), "total4"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

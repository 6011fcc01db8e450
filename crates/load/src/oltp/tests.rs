use super::*;
use crate::Recipe;
use crate::generator::Generator;
use crate::schema::{Schema, SchemaKind};
use crate::workload::Workload;

fn sequence(recipe: Recipe, workload: &Workload, schema: &Schema) -> Vec<&'static str> {
    let once = |g: StatementGroup| g.steps.repeat(g.repeat as usize);
    recipe.groups(workload, schema).into_iter().flat_map(once).map(StatementKind::name).collect()
}

#[test]
fn queries_per_event_are_as_published() {
    let workload = Workload::default();
    let counts =
        [(Recipe::OltpReadOnly, 16), (Recipe::OltpWriteOnly, 6), (Recipe::OltpReadWrite, 20)];
    for (recipe, queries) in counts {
        assert_eq!(sequence(recipe, &workload, &Schema::default()).len(), queries, "{recipe:?}");
    }
    for recipe in Recipe::of(Generator::V10).skip(3) {
        assert_eq!(sequence(recipe, &workload, &Schema::default()).len(), 1, "{recipe:?}");
    }
}

#[test]
fn options_add_and_remove_statements() {
    let workload = Workload {
        skip_trx: true,
        range_selects: false,
        point_selects: 2,
        index_updates: 0,
        delete_inserts: 2,
        ..Workload::default()
    };
    assert_eq!(
        sequence(Recipe::OltpReadWrite, &workload, &Schema::default()),
        [
            "point_select",
            "point_select",
            "non_index_update",
            "delete",
            "insert",
            "delete",
            "insert"
        ]
    );
}

#[test]
fn text_statements_come_with_the_text_schema_only() {
    let schema = Schema { kind: SchemaKind::Text, ..Schema::default() };
    let names = sequence(Recipe::OltpReadWrite, &Workload::default(), &schema);
    assert_eq!(names.len(), 22);
    assert_eq!(names.iter().filter(|name| name.starts_with("text_")).count(), 2);
    let insert = StatementKind::Insert.sql(3, &Workload::default(), &schema);
    assert_eq!(
        insert,
        "INSERT INTO sbtest3 (id, k, c, pad, data1, data2) VALUES (?, ?, ?, ?, ?, ?)"
    );
}

#[test]
fn names_are_forgiving_and_slips_get_a_hint() {
    assert_eq!(Recipe::from_name("oltp_read_write").unwrap(), Recipe::OltpReadWrite);
    assert_eq!(Recipe::from_name("read_only").unwrap(), Recipe::OltpReadOnly);
    assert_eq!(
        Recipe::from_name("/usr/share/sysbench/oltp_insert.lua").unwrap(),
        Recipe::OltpInsert
    );
    let error = Recipe::from_name("oltp_read_wirte").unwrap_err().to_string();
    assert!(error.contains("`oltp_read_write`"), "{error}");
}
